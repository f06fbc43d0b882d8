// Generates the job script of a run or a run set for a cluster's scheduler.
#pragma once

#include <string>
#include <vector>

#include "runner/launch/job_request.h"

namespace launch {

/// A bash script, without parts that were not requested. Throws ConfigError for requests that the
/// scheduler does not support or that would break the script.
std::string job_script(const JobRequest& request);

/// The commands that submit the script, which they read from standard input, and print the job's
/// number: one command, or one per member if the scheduler has no arrays.
std::vector<std::vector<std::string>> submit_commands(const JobRequest& request);

}  // namespace launch
