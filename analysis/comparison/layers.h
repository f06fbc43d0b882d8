// Compares seconds of layers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/trace_file.h"

namespace analysis::comparison {

/// A layer's seconds on both sides; absent on a side without the layer.
struct LayerDifference {
  std::string name;
  std::optional<double> first_s, second_s;
  double difference_s() const { return second_s.value_or(0.0) - first_s.value_or(0.0); }
};
/// The layers of both sides, matched by name, the largest difference first.
std::vector<LayerDifference> layer_differences(const LayerTimes& first, const LayerTimes& second);

}  // namespace analysis::comparison
