// DeepCAM as the runner's Workload.
// Hides model, data and training behind that contract.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "runner/workload.h"

namespace deepcam {

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around);

runner::MemoryNeeds memory_needs(const runner::RunConfig& config, const runner::PlannedRank& place);

/// Training steps on random fields in memory. Collective; the result is the same on every rank.
nlohmann::json run_bench(const runner::BenchOptions& options, const runner::Surroundings& around);

}  // namespace deepcam
