// Seconds of layers on two sides, the largest difference first.
// Hides how layers are matched, and the layout of traces.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace analysis::comparison {

/// Seconds of a training step, forward and backward together, by the layer's name.
using LayerTimes = std::map<std::string, double>;

/// A layer that only one side has lacks the other's seconds.
struct LayerDifference {
  std::string name;
  std::optional<double> first_s, second_s;
  double difference_s() const { return second_s.value_or(0.0) - first_s.value_or(0.0); }
};
std::vector<LayerDifference> layer_differences(const LayerTimes& first, const LayerTimes& second);

/// The layers in result_<n>.trace.json beside result_<n>.txt: means over its steps and ranks.
/// Nothing where there is no such file or no layer in it. Throws DataError naming the file where it
/// is damaged.
std::optional<LayerTimes> read_layers_beside(const std::filesystem::path& log);

}  // namespace analysis::comparison
