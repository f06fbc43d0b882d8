// The two catches around everything that runs on ranks.
// Hides MPI_Abort.
#include "runner/on_ranks.h"

#include <exception>

#include "runner/agreed_error.h"
#include "runner/communicator.h"

namespace runner {

int run_on_ranks(int argc, char** argv, const base::Command::Action& action) {
  const MpiEnvironment mpi(argc, argv);        // both outlive the try block, so that no
  Communicator world = Communicator::world();  // collective call runs while unwinding
  try {
    return static_cast<int>(action(&world));
  } catch (const AgreedError& e) {
    world.abort_together(e.code(), e.what());
  } catch (const base::Error& e) {
    world.abort(e.code(), e.what());
  } catch (const std::exception& e) {
    world.abort(base::ExitCode::kInternal, e.what());
  }
}

}  // namespace runner
