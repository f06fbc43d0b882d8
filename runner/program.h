// The program around its commands: parsing, help, version, exit codes.
// Hides CLI11's application.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runner/base/command.h"

namespace runner {

struct Program {
  std::vector<base::Command> commands;
  std::vector<std::string> missing_commands;  ///< that this build lacks
  std::string why_missing;
  std::function<std::string()> version;
  /// Runs the action of a command that needs ranks.
  std::function<int(int argc, char** argv, const base::Command::Action&,
                    std::int64_t mpi_timeout_s)>
      run_on_ranks;
};

/// Parses and runs; returns the exit status. A usage error ends here with 2, before any MPI.
int run_program(int argc, char** argv, const Program& program);

}  // namespace runner
