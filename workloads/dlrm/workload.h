// DLRM as the runner sees it.
// Hides model, data and exchanges.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "runner/workload.h"

namespace dlrm {

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around);

/// What training it takes, without taking it.
runner::MemoryNeeds memory_needs(const runner::RunConfig& config, const runner::PlannedRank& place);

/// The in-memory benchmark.
nlohmann::json run_bench(const runner::BenchOptions& options, const runner::Surroundings& around);

}  // namespace dlrm
