// Man pages, written from the tree of commands.
// Hides roff.
#pragma once

#include <string>
#include <vector>

#include "runner/command_tree.h"

namespace runner {

struct ManPage {
  std::string file;  ///< "trainmark-run.1"
  std::string text;
};

/// That of the program first, then one for each of its commands, with what lies below it.
/// `version` stands in the footer.
std::vector<ManPage> man_pages(const CommandFacts& program, const std::string& version);

}  // namespace runner
