// The DLRM workload, for the runner.
#pragma once

#include <memory>

#include "runner/workload.h"

namespace dlrm {

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around);

/// The memory that training takes, without allocating it.
runner::MemoryNeeds memory_needs(const runner::RunConfig& config, const runner::PlannedRank& place);

/// Declares the options of `bench dlrm` and returns the bench.
runner::Bench declare_bench(CLI::App& app);

}  // namespace dlrm
