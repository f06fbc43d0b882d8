// What a run would do, without doing it.
// Hides how plans and estimates are put together.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/placement.h"
#include "runner/run_config.h"
#include "runner/run_set.h"
#include "runner/workload.h"

namespace runner {

/// This rank, as plans see it.
PlannedRank planned_rank(const Surroundings& around);

/// Collective, after Workload::open_data(). Trains nothing, writes nothing. {"config", "workload",
/// "schedule", "memory", "disk", "checkpoint", "ranks", "log"}; the same on every rank but for what
/// is per rank, which is rank 0's.
nlohmann::json plan_run(const RunConfig& config, const RunSetPlan& plan, Workload& workload,
                        const MemoryNeeds& memory, const Surroundings& around,
                        const ThreadPlan& threads);

}  // namespace runner
