// The program around its commands: parsing, help, version, exit codes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runner/base/command.h"

namespace runner {

struct Program {
  std::vector<base::Command> commands;
  std::vector<std::string> missing_commands;  ///< commands that this build lacks
  std::string why_missing;
  std::function<std::string()> version;
  /// Runs the action of a command that needs ranks.
  std::function<int(int argc, char** argv, const base::Command::Action&,
                    std::int64_t mpi_timeout_s)>
      run_on_ranks;
};

/// Parses the command line and runs the command; returns the exit status. A usage error returns 2
/// before MPI starts.
int run_program(int argc, char** argv, const Program& program);

}  // namespace runner
