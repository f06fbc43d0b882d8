// Compares seconds of layers.
#include "analysis/comparison/layers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace analysis::comparison {

std::vector<LayerDifference> layer_differences(const LayerTimes& first, const LayerTimes& second) {
  std::map<std::string, LayerDifference> by_name;
  for (const auto& [name, seconds] : first) by_name[name].first_s = seconds;
  for (const auto& [name, seconds] : second) by_name[name].second_s = seconds;
  std::vector<LayerDifference> differences;
  for (auto& [name, one] : by_name) {
    one.name = name;
    differences.push_back(std::move(one));
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const LayerDifference& a, const LayerDifference& b) {
                     return std::abs(a.difference_s()) > std::abs(b.difference_s());
                   });
  return differences;
}

}  // namespace analysis::comparison
