// What a command of the program is: its name, its options, and whether it needs ranks.
// Hides nothing; main.cpp gathers the tables of all rooms.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace CLI {
class App;
}
namespace runner {
class Communicator;
}

namespace base {

/// One subcommand. `declare` adds its options to a parser (bound to state that the returned action
/// owns) and gives the action to run after parsing. The action gets the world when the command
/// runs on ranks and nullptr otherwise, and returns an exit code; it throws base::Error when the
/// job could not be done.
struct Command {
  using Action = std::function<ExitCode(runner::Communicator* world)>;
  std::string name;
  std::string summary;
  std::string example;  ///< shown under --help
  bool needs_mpi = false;
  bool joins_ranks = false;  ///< runs alone, but on all ranks where an MPI launcher started some
  std::function<Action(CLI::App&)> declare;
};

}  // namespace base
