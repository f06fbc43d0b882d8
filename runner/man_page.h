// Man pages in roff, generated from the command tree.
#pragma once

#include <string>
#include <vector>

#include "runner/command_tree.h"

namespace runner {

struct ManPage {
  std::string file;  ///< "trainmark-run.1"
  std::string text;
};

/// The program's page first, then one per command, which includes its subcommands. `version`
/// appears in the footer.
std::vector<ManPage> man_pages(const CommandFacts& program, const std::string& version);

}  // namespace runner
