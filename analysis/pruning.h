// Chooses which instances of a weak-scaling set to leave out of a throughput result.
// Source: hpc_training_rules, throughput.
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
  std::string unusable;  ///< why it cannot count; "" if it can
};

struct Pruning {
  std::vector<std::size_t> kept;                            ///< indices, ascending
  std::vector<std::pair<std::size_t, std::string>> pruned;  ///< the others, and why
  double ttta_s = 0.0;  ///< first start to last stop of the kept ones; 0 if none
  /// Of the kept ones; 0 if none.
  double models_per_minute() const;
};

/// Prunes unusable instances, and of equal seeds all but the one that ended first. Then prunes
/// those that began early or ended late, so that the models per minute are largest with at least
/// `least` kept; of equal rates it takes the one with more models. Quadratic in their number.
Pruning prune(const std::vector<Instance>& instances, std::size_t least);

}  // namespace analysis
