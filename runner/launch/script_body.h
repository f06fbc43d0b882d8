// The part of a job script after its directives, in bash.
#pragma once

#include <string>

#include "runner/launch/script_parts.h"

namespace launch {

std::string script_body(const JobRequest& request, const SchedulerParts& parts);

}  // namespace launch
