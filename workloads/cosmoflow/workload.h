// CosmoFlow as the runner's Workload.
#pragma once

#include <memory>

#include "runner/workload.h"

namespace cosmoflow {

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around);

runner::MemoryNeeds memory_needs(const runner::RunConfig& config, const runner::PlannedRank& place);

runner::TrainingScale training_scale(const runner::RunConfig& config,
                                     const runner::PlannedRank& place);

/// Declares the options of `bench cosmoflow` and returns the bench.
runner::Bench declare_bench(CLI::App& app);

}  // namespace cosmoflow
