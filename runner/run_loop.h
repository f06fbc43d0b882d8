// One run from init to run_stop, in the order that the rules prescribe.
#pragma once

#include "runner/caches.h"
#include "runner/run_config.h"
#include "runner/run_doors.h"
#include "runner/run_outcome.h"
#include "runner/workload.h"

namespace runner {

/// Collective. Trains `workload` according to `config` and logs `caches`. Throws a failure of this
/// rank, after ending the log with run_stop aborted; the watchdog does so for failures of other
/// ranks. Throws AgreedError on every rank if replicas have diverged.
RunOutcome run_once(const RunConfig& config, Workload& workload, const CacheClearing& caches,
                    const RunDoors& doors);

}  // namespace runner
