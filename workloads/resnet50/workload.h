// ResNet-50 as the runner's Workload.
#pragma once

#include <memory>

#include "runner/workload.h"

namespace resnet50 {

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around);

runner::MemoryNeeds memory_needs(const runner::RunConfig& config, const runner::PlannedRank& place);

runner::TrainingScale training_scale(const runner::RunConfig& config,
                                     const runner::PlannedRank& place);

/// Declares the options of `bench resnet50` and returns the bench.
runner::Bench declare_bench(CLI::App& app);

}  // namespace resnet50
