// How many ranks share a sample, and why.
// Hides the candidates and what each would take.
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
  std::int64_t rank_bytes = 0;    ///< that training takes on a rank, as planned
  std::int64_t margin_bytes = 0;  ///< that a rank gives to neighbours for one sample, both ways
  std::string reason;
};

/// What a rank's training takes with config.split.
runner::MemoryNeeds memory_of(const Config& config, const nn::Optimizer& optimizer,
                              const runner::PlannedRank& place);

/// config.split, or where the configuration leaves it open the fewest parts with which every group
/// of ranks has a sample in each pass and training fits the memory limit; of equal numbers those
/// that give neighbours least. Throws ConfigError naming what is needed where nothing fits.
SplitChoice choose_split(const Config& config, const nn::Optimizer& optimizer,
                         const runner::PlannedRank& place);

/// Bytes that the busiest rank gives to neighbours for a sample: margins of each convolution's
/// source forward, and of their gradients backward but for the first's.
std::int64_t margin_bytes(const Config& config, const Split& split);

nlohmann::json to_json(const SplitChoice& choice);

}  // namespace cosmoflow
