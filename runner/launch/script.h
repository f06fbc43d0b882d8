// The job script of a run or a run set, for the scheduler of a cluster.
// Hides directives, signals, requeueing, scratch and placement.
#pragma once

#include <string>
#include <vector>

#include "runner/launch/job_request.h"

namespace launch {

/// A bash script without what was not asked for. Throws ConfigError for what the scheduler cannot
/// do, or what would break the script.
std::string job_script(const JobRequest& request);

/// The commands that hand the script to the scheduler, which read it from their standard input and
/// print the job's number: one, or one a member where the scheduler has no arrays.
std::vector<std::vector<std::string>> submit_commands(const JobRequest& request);

}  // namespace launch
