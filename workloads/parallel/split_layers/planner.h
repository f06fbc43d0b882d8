// Chooses how each layer is distributed: with the least communication in a step.
// Source: the ratio of computation to communication of Das et al., arXiv:1602.06709, as Sridharan
// et al., arXiv:1801.08030, use it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/parallel/split_layers/chain.h"

namespace parallel {

/// FLOPs of a step for each byte of a layer's gradients that a rank with `samples` samples sends
/// and receives, in f32, under data parallelism: 1.5 samples out_points for convolutions.
/// `overlap`: the share of the receiving that hides behind the sending, 0 to 1.
double computation_per_byte(const WeightedLayer& layer, double samples, double overlap);

/// For a fully connected layer of `outputs` outputs on `ranks` ranks, the number of data parts at
/// which activations and gradients together take the fewest bytes: sqrt(2 ranks samples / (outputs
/// (2 - overlap))), at least 1 and at most `ranks`. `samples`: of a step, on all ranks.
double best_data_parts(std::int64_t samples, int ranks, std::int64_t outputs, double overlap);

/// Bytes that all ranks together send in a step.
struct Communication {
  std::int64_t activations = 0, gradients = 0;
  std::int64_t total() const { return activations + gradients; }
};
/// Of gradients, the fewest bytes possible are sent: 2 (parts - 1) / parts of each part's.
Communication communication_of(const Chain& chain, const ChainDistribution& distribution,
                               std::int64_t samples, int ranks);

/// The distributions that a layer may have: groups that divide the ranks, have at most as many
/// ranks as the layer has input channels, and leave a sample for each group.
std::vector<Distribution> candidates(const WeightedLayer& layer, std::int64_t samples, int ranks);

/// What the whole chain sends if one layer is distributed so, and all others stay as chosen.
struct Alternative {
  Distribution distribution;
  Communication communication;
};
struct PlannedLayer {
  WeightedLayer layer;
  std::string name;
  Distribution chosen;
  std::vector<Alternative> alternatives;  ///< the chosen one included
  double computation_per_byte = 0.0;      ///< without overlap
  /// Fully connected layers: best_data_parts() without overlap; otherwise 0.
  double best_data_parts = 0.0;
  /// The best alternative that was not chosen; null if there is none.
  const Alternative* next_best() const;
};
struct SplitPlan {
  ChainDistribution distribution;
  Communication communication, data_parallel;
  std::vector<PlannedLayer> layers;
};

/// The distribution of the chain of least communication among all combinations of candidates.
/// Throws ConfigError without samples.
SplitPlan plan_layers(const Chain& chain, std::int64_t samples, int ranks);

/// Every layer in groups of `group` ranks, or of as many as its candidates allow.
ChainDistribution distribution_by(const Chain& chain, std::int64_t samples, int ranks, int group);

}  // namespace parallel
