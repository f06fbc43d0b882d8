// The plan and estimates of a run, without running it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/placement.h"
#include "runner/run_config.h"
#include "runner/run_set.h"
#include "runner/workload.h"

namespace runner {

/// This rank as memory plans see it.
PlannedRank planned_rank(const Surroundings& around);

/// Collective, after Workload::open_data(). Trains and writes nothing. Returns {"config",
/// "workload", "schedule", "memory", "disk", "checkpoint", "staging", "placement", "ranks", "log"},
/// the same on every rank except per-rank facts, which are rank 0's.
nlohmann::json plan_run(const RunConfig& config, const RunSetPlan& plan, Workload& workload,
                        const MemoryNeeds& memory, const Surroundings& around, const Place& place,
                        const CheckpointFormat& format);

}  // namespace runner
