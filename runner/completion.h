// Completion of command lines by bash and zsh, written from the tree of commands.
// Hides both shells' languages.
#pragma once

#include <string>

#include "runner/command_tree.h"

namespace runner {

/// To be sourced, or to lie in a folder of bash-completion's; needs bash alone.
std::string bash_completion(const CommandFacts& program);
/// A function to be autoloaded, in a folder of $fpath, as _PROGRAM.
std::string zsh_completion(const CommandFacts& program);

}  // namespace runner
