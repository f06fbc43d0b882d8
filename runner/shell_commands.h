// The commands completion and man, which describe the program itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/base/command.h"

namespace runner {

/// `app` is the program that contains these commands. It must outlive their actions, which read its
/// command tree.
std::vector<base::Command> shell_commands(const CLI::App& app,
                                          const std::function<std::string()>& version);

}  // namespace runner
