// Submits a job script to the scheduler.
#pragma once

#include <string>
#include <vector>

namespace launch {

/// Runs `command` without a shell, with `script` as its standard input; its output goes where this
/// program's output goes. Throws SystemError if it cannot be started or fails.
void hand_over(const std::vector<std::string>& command, const std::string& script);

}  // namespace launch
