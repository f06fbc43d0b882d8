// DLRM as the runner sees it.
// Hides model, data and exchanges.
#pragma once

#include <memory>

#include "runner/workload.h"

namespace dlrm {

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around);

/// What training it takes, without taking it.
runner::MemoryNeeds memory_needs(const runner::RunConfig& config, const runner::PlannedRank& place);

/// Declares the options of `bench dlrm` and gives the bench.
runner::Bench declare_bench(CLI::App& app);

}  // namespace dlrm
