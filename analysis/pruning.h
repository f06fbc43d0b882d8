// Which instances that trained at the same time to leave out of a throughput result.
// Hides the search for the best choice. Source: hpc_training_rules, throughput.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace analysis {

/// One instance of a weak-scaling set.
struct Instance {
  double start_ms = 0.0, stop_ms = 0.0;  ///< run_start and run_stop
  std::uint64_t seed = 0;
  std::string unusable;  ///< why it cannot count: "" where it can
};

struct Pruning {
  std::vector<std::size_t> kept;                            ///< indices, rising
  std::vector<std::pair<std::size_t, std::string>> pruned;  ///< the others, and why
  double ttta_s = 0.0;  ///< from the first start to the last stop of those kept; 0 of none
  /// Of those kept; 0 of none.
  double models_per_minute() const;
};

/// Leaves out what cannot count, all but the soonest end of equal seeds, and then those that began
/// early or ended late as long as that raises the models per minute and `least` are kept. Of equal
/// rates the one with more models. Quadratic in the number of instances.
Pruning prune(const std::vector<Instance>& instances, std::size_t least);

}  // namespace analysis
