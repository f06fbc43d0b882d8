// A command of the program: its name, its options, and whether it needs ranks.
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
/// owns) and returns the action to run after parsing. The action gets the world communicator if the
/// command runs on ranks, else nullptr. It returns an exit code and throws base::Error if the job
/// could not be done.
struct Command {
  using Action = std::function<ExitCode(runner::Communicator* world)>;
  std::string name;
  std::string summary;
  std::string example;  ///< shown under --help
  bool needs_mpi = false;
  bool joins_ranks = false;  ///< uses one process, but initializes MPI on all ranks when an MPI
                             ///< launcher started it
  /// After parsing: whether the options ask for one process without MPI, though `needs_mpi`. May be
  /// empty.
  std::function<bool()> stays_alone;
  std::function<Action(CLI::App&)> declare;
};

}  // namespace base
