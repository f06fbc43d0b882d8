// The two catches around everything that runs on ranks.
// Hides MPI_Abort, and that a process without peers needs none.
#include "runner/on_ranks.h"

#include <exception>
#include <iostream>

#include "runner/agreed_error.h"
#include "runner/communicator.h"

namespace runner {
namespace {

enum class Knowledge { kOnThisRank, kOnEveryRank };

int fail(const Communicator& world, base::ExitCode code, const std::string& message,
         Knowledge knowledge) {
  if (world.size() == 1) {
    // Nobody waits in a collective call: MPI can end as usual, without the launcher's noise.
    std::cerr << "trainmark: " << message << '\n' << std::flush;
    return static_cast<int>(code);
  }
  if (knowledge == Knowledge::kOnEveryRank) world.abort_together(code, message);
  world.abort(code, message);
}

}  // namespace

int run_on_ranks(int argc, char** argv, const base::Command::Action& action) {
  const MpiEnvironment mpi(argc, argv);        // both outlive the try block, so that no
  Communicator world = Communicator::world();  // collective call runs while unwinding
  try {
    return static_cast<int>(action(&world));
  } catch (const AgreedError& e) {
    return fail(world, e.code(), e.what(), Knowledge::kOnEveryRank);
  } catch (const base::Error& e) {
    return fail(world, e.code(), e.what(), Knowledge::kOnThisRank);
  } catch (const std::exception& e) {
    return fail(world, base::ExitCode::kInternal, e.what(), Knowledge::kOnThisRank);
  }
}

}  // namespace runner
