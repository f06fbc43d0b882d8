// What turns batches of universes into updates and errors, for runs and benches.
// Hides the network's input and output.
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

/// Puts a batch into the network's input, names its samples, and gives their targets [N, 4], which
/// end where slots hold no sample.
std::vector<float> load_batch(const UniverseBatch& batch, bool apply_log, std::uint64_t seed,
                              std::int64_t epoch, nn::Executor& executor);

}  // namespace cosmoflow
