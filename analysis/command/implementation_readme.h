// The README of benchmarks/BENCHMARK/implementations/SYSTEM in a package.
#pragma once

#include <string>
#include <vector>

#include "analysis/command/run_set_folder.h"

namespace analysis::command {

/// The text: what was run, how, and with which seeds. `runs` are in the order of the package.
std::string implementation_readme(const RunSetFolder& folder,
                                  const std::vector<const CheckedFile*>& runs,
                                  const std::string& benchmark, const std::string& system);

}  // namespace analysis::command
