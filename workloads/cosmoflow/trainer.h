// Loading of batches of universes into the network, for runs and benches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/cosmoflow/config.h"
#include "workloads/cosmoflow/universe_batches.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/parallel/data_parallel.h"

namespace cosmoflow {

parallel::DataParallelConfig data_parallel_config(const Config& config);

/// Loads a batch into the network's input and names its samples to the executor. Returns the
/// targets [N, 4] of the slots that hold a sample; empty slots are last.
std::vector<float> load_batch(const UniverseBatch& batch, bool apply_log, std::uint64_t seed,
                              std::int64_t epoch, nn::Executor& executor);

}  // namespace cosmoflow
