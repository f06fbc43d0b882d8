// completion and man: what shells and readers are told of the program itself.
// Hides their options.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/base/command.h"

namespace runner {

/// `app` is the program that they, too, are part of; it outlives their actions, which read its
/// tree.
std::vector<base::Command> shell_commands(const CLI::App& app,
                                          const std::function<std::string()>& version);

}  // namespace runner
