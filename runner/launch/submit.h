// Hands a job script to the scheduler.
#pragma once

#include <string>
#include <vector>

namespace launch {

/// Runs `command` without a shell, with `script` as its standard input; what it prints goes where
/// this program's does. Throws SystemError where it cannot be started or fails.
void hand_over(const std::vector<std::string>& command, const std::string& script);

}  // namespace launch
