// A perceptron of two layers as the runner's Workload.
// Hides model, data and training behind that contract.
#pragma once

#include <memory>

#include "runner/workload.h"

namespace example {

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around);

runner::MemoryNeeds memory_needs(const runner::RunConfig& config, const runner::PlannedRank& place);

/// Declares the options of `bench example` and gives the bench.
runner::Bench declare_bench(CLI::App& app);

}  // namespace example
