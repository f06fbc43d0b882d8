// What every workload does with the network that all ranks have: its weights in and out of files,
// what a step costs, what memory and threads it takes. Hides nothing of the network.
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

/// Every parameter under its name, row-major; nothing where `writer` is null.
void write_parameters(runner::StateWriter* writer, const nn::Executor& executor);
/// Collective among replicas that share weights. Adds the names that were read to `known`. Throws
/// DataError for arrays that are missing or of another shape.
void read_parameters(const runner::StateReader& reader, nn::Executor& executor,
                     std::set<std::string>& known);
/// The same of batch norms' running statistics, which synchronize_statistics() has made those of
/// all ranks: name.running_mean, name.running_var. What PyTorch saves beside them is known, too.
void write_statistics(runner::StateWriter* writer, const nn::Executor& executor);
void read_statistics(const runner::StateReader& reader, nn::Executor& executor,
                     std::set<std::string>& known);
/// Throws DataError when the file has arrays that are neither known nor a resume's alone.
void refuse_unknown(const runner::StateReader& reader, const std::set<std::string>& known);

/// Of a step on `samples` samples of a rank.
runner::StepCost step_cost(const nn::Network& network, std::int64_t samples);

/// Of a rank's batches ahead, and of the one that is being read.
std::int64_t samples_ahead(const ReadKeys& keys, const DataParallelConfig& training,
                           const runner::PlannedRank& place);

/// Of training without what the workload has beside the network. Throws as DataParallel does.
runner::MemoryNeeds memory_needs(const nn::Network& network, const DataParallelConfig& training,
                                 const runner::PlannedRank& place, const nn::Optimizer& optimizer);

}  // namespace parallel
