// The log that a run would have if it went well, made before it begins.
// Hides which records come after those that the configuration decides.
#pragma once

#include <string>

#include "runner/base/clock.h"
#include "runner/run_config.h"
#include "runner/workload.h"

namespace runner {

/// Every record from submission_benchmark to run_stop, written by RunLog. The run is evaluated when
/// its configuration says and reaches exactly its own target in the last of the first few
/// evaluations, so what the rules find in this log, no luck can mend. Times begin at `clock`'s.
/// After Workload::open_data().
std::string planned_log(const RunConfig& config, const Workload& workload, int ranks, int nodes,
                        const base::Clock& clock);

}  // namespace runner
