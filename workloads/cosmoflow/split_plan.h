// The number of ranks that share a sample, and the reason for it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/workload.h"
#include "workloads/cosmoflow/config.h"
#include "workloads/optimizer/optimizer.h"

namespace cosmoflow {

struct SplitChoice {
  Split split;
  std::int64_t rank_bytes = 0;    ///< a rank's memory for training, as planned
  std::int64_t margin_bytes = 0;  ///< sent to neighbours for one sample, both passes
  std::string reason;
};

/// Memory of a rank's training with config.split.
runner::MemoryNeeds memory_of(const Config& config, const nn::Optimizer& optimizer,
                              const runner::PlannedRank& place);

/// Returns config.split or, if the configuration leaves it open, the split into the fewest parts
/// for which every group of ranks has a sample in each pass and training fits the memory limit;
/// among splits into equally many parts, the one with the least traffic between neighbours. Throws
/// ConfigError naming what is needed when nothing fits.
SplitChoice choose_split(const Config& config, const nn::Optimizer& optimizer,
                         const runner::PlannedRank& place);

/// Bytes that the busiest rank sends to neighbours for a sample: the margins of each convolution's
/// input forward, and of its gradient backward except for the first convolution.
std::int64_t margin_bytes(const Config& config, const Split& split);

nlohmann::json to_json(const SplitChoice& choice);

}  // namespace cosmoflow
