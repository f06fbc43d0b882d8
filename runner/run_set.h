// Several runs of one configuration, each with its own seed, workload and files.
#pragma once

#include "runner/base/error.h"
#include "runner/run_config.h"
#include "runner/run_set_plan.h"
#include "runner/workload.h"

namespace runner {

/// Collective. A single run has the configuration's seed (0: the checkpoint's, else one from the
/// operating system), and the result is exit_code() of its status. Several runs are a set: see
/// run_members().
base::ExitCode run_set(const RunConfig& config, const RunSetPlan& plan, MakeWorkload make,
                       const RunSetDoors& doors);

}  // namespace runner
