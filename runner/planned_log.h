// The log that a run would have if it went well, generated before it begins.
#pragma once

#include <string>

#include "runner/base/clock.h"
#include "runner/run_config.h"
#include "runner/workload.h"

namespace runner {

/// Every record from submission_benchmark to run_stop, written by RunLog. The run is evaluated at
/// its configured times and reaches exactly its own target in the last of the first few
/// evaluations, so the real run cannot avoid a break found in this log. Times start at `clock`'s.
/// Call after Workload::open_data().
std::string planned_log(const RunConfig& config, const Workload& workload, int ranks, int nodes,
                        const base::Clock& clock);

}  // namespace runner
