// One run from init to run_stop: who may stop it, when it is evaluated, what the log says.
// Hides the order of things; workloads and tests cannot get it wrong.
#pragma once

#include "runner/caches.h"
#include "runner/run_config.h"
#include "runner/run_doors.h"
#include "runner/run_outcome.h"
#include "runner/workload.h"

namespace runner {

/// Collective. Trains `workload` as `config` says. `caches` goes into the log. A failure of this
/// rank is thrown; the log then ends with run_stop aborted, where the failure is another rank's by
/// the watchdog. Throws AgreedError on every rank if replicas drifted apart.
RunOutcome run_once(const RunConfig& config, Workload& workload, const CacheClearing& caches,
                    const RunDoors& doors);

}  // namespace runner
