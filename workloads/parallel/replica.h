// Functions on the network that every rank replicates: reading and writing its weights, the cost of
// a step, and memory needs.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "runner/workload.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/training_keys.h"

namespace parallel {

/// Writes every parameter under its name, row-major; does nothing if `writer` is null.
void write_parameters(runner::StateWriter* writer, const nn::Executor& executor);
/// Collective over the replicas that share weights. Adds the names that were read to `known`.
/// Throws DataError for arrays that are missing or have another shape.
void read_parameters(const runner::StateReader& reader, nn::Executor& executor,
                     std::set<std::string>& known);
/// Write and read the running statistics of batch norms, after synchronize_statistics(), as the
/// arrays name.running_mean and name.running_var. PyTorch's name.num_batches_tracked counts as
/// known.
void write_statistics(runner::StateWriter* writer, const nn::Executor& executor);
void read_statistics(const runner::StateReader& reader, nn::Executor& executor,
                     std::set<std::string>& known);
/// Throws DataError if the file has arrays that are neither in `known` nor below
/// base::kResumeGroup.
void refuse_unknown(const runner::StateReader& reader, const std::set<std::string>& known);

/// The cost of a step on a rank that trains `samples` samples in it.
runner::StepCost step_cost(const nn::Network& network, std::int64_t samples);

/// Samples in a rank's prefetched batches and in the batch being read.
std::int64_t samples_ahead(const ReadKeys& keys, const DataParallelConfig& training,
                           const runner::PlannedRank& place);

/// Floats of a rank's gradients, which nodes exchange: the parameters in the layouts that the
/// library chooses on this CPU, padded. Plans the network. Throws as DataParallel does.
std::int64_t gradient_floats(const nn::Network& network, const DataParallelConfig& training,
                             const runner::PlannedRank& place);

/// Memory for training the network; the workload adds its own. Throws as DataParallel does.
runner::MemoryNeeds memory_needs(const nn::Network& network, const DataParallelConfig& training,
                                 const runner::PlannedRank& place, const nn::Optimizer& optimizer);

}  // namespace parallel
