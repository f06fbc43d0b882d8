// Command-line completion for bash and zsh, generated from the command tree.
#pragma once

#include <string>

#include "runner/command_tree.h"

namespace runner {

/// For sourcing, or for a folder of bash-completion; needs only bash.
std::string bash_completion(const CommandFacts& program);
/// An autoloaded function: store it in a folder of $fpath as _PROGRAM.
std::string zsh_completion(const CommandFacts& program);

}  // namespace runner
