// The costs of training a replicated network on any number of ranks.
#pragma once

#include "runner/training_scale.h"
#include "runner/workload.h"
#include "workloads/nn/network.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/training_keys.h"

namespace parallel {

/// Nodes have place.node_ranks ranks each, the last one maybe fewer. Throws ConfigError as
/// split_batch() and staging::SampleOrder do, and if `keys` have no number of samples.
runner::TrainingScale training_scale(const nn::Network& network, const DataParallelConfig& training,
                                     const ReadKeys& keys, const runner::PlannedRank& place);

}  // namespace parallel
