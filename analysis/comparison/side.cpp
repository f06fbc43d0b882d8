// One side of a comparison.
#include "analysis/comparison/side.h"

#include <algorithm>
#include <cmath>

#include "runner/mllog/keys.h"

namespace analysis::comparison {

std::vector<const RunInSide*> Side::successful() const {
  std::vector<const RunInSide*> good;
  for (const RunInSide& run : runs) {
    if (succeeded(*run.facts)) good.push_back(&run);
  }
  std::stable_sort(good.begin(), good.end(), [](const RunInSide* a, const RunInSide* b) {
    return *a->facts->ttt_s < *b->facts->ttt_s;
  });
  return good;
}

std::optional<double> Side::nodes() const {
  if (system->description.nodes) return system->description.nodes;
  for (const RunInSide& run : runs) {
    const auto logged = number(run.facts->config_value(mllog::keys::kNumberOfNodes));
    if (logged && *logged > 0.0) return logged;
  }
  return std::nullopt;
}

std::optional<double> Side::count(Per per) const {
  if (per == Per::kSystem) return 1.0;
  const auto times = per == Per::kNode ? nodes() : system->compute_units;
  const bool is_count = times && *times > 0.0 && std::isfinite(*times);
  return is_count ? times : std::nullopt;
}

const char* to_string(Per per) {
  switch (per) {
    case Per::kSystem:
      return "system";
    case Per::kNode:
      return "node";
    case Per::kUnit:
      return "unit";
  }
  return "";
}

}  // namespace analysis::comparison
