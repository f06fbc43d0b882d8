// Seconds of layers on two sides, the largest difference first.
// Hides how layers are matched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/trace_file.h"

namespace analysis::comparison {

/// A layer that only one side has lacks the other's seconds.
struct LayerDifference {
  std::string name;
  std::optional<double> first_s, second_s;
  double difference_s() const { return second_s.value_or(0.0) - first_s.value_or(0.0); }
};
std::vector<LayerDifference> layer_differences(const LayerTimes& first, const LayerTimes& second);

}  // namespace analysis::comparison
