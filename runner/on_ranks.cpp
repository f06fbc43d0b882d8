// The outermost exception handlers of commands that run on ranks, and checks that the ranks form
// one job.
#include "runner/on_ranks.h"

#include <csignal>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

#include "runner/agreed_error.h"
#include "runner/base/printable.h"
#include "runner/communicator.h"
#include "runner/dead_segments.h"
#include "runner/launch/launcher.h"
#include "runner/mpi_guard.h"
#include "runner/start_check.h"

namespace runner {
namespace {

enum class Knowledge { kOnThisRank, kOnEveryRank };

int fail(const Communicator& world, const base::Failure& failure, Knowledge knowledge) {
  if (world.size() == 1) {
    // No rank waits in a collective call: MPI can end as usual, without the launcher's messages.
    std::cerr << "trainmark: " << base::printable(failure.message) << '\n' << std::flush;
    return static_cast<int>(failure.code);
  }
  if (knowledge == Knowledge::kOnEveryRank) world.abort_together(failure.code, failure.message);
  world.abort(failure.code, failure.message);
}

/// Only MPI's end is left, but ranks do not end at the same moment. When a launcher sees the first
/// rank's exit code 6, it would end the others by SIGTERM and print messages.
void ignore_late_sigterm() { std::signal(SIGTERM, SIG_IGN); }

/// Every process finds the same problem, and there may be no launcher to end the others: rank 0
/// prints it if it can know.
int refuse(const launch::Launcher& launcher, const std::string& problem) {
  if (launcher.rank == 0 || !launcher.rank_0_knows) {
    std::cerr << "trainmark: " << base::printable(problem) << '\n' << std::flush;
  }
  return static_cast<int>(base::ExitCode::kSystem);
}

}  // namespace

int run_on_ranks(int argc, char** argv, const base::Command::Action& action,
                 std::int64_t mpi_timeout_s) {
  // A terminal or pipe whose reader is gone must not end hours of training.
  std::signal(SIGPIPE, SIG_IGN);
  const launch::Launcher launcher = launch::launcher_of(launch::environment());
  const std::string library = mpi_library_version();
  const std::string start_problem = launch::start_problem(launcher, library);
  if (!start_problem.empty()) return refuse(launcher, start_problem);
  remove_dead_segments();
  const auto timeout_s = static_cast<double>(mpi_timeout_s);
  std::optional<MpiGuard> guard(std::in_place, MpiPhase::kStart, launcher, timeout_s);
  const MpiEnvironment mpi(argc, argv);        // both outlive the try block, so that no
  Communicator world = Communicator::world();  // collective call runs while unwinding
  const std::string size_problem = launch::size_problem(launcher, world.size(), library);
  if (!size_problem.empty()) return refuse(launcher, size_problem);
  try {
    guard.emplace(MpiPhase::kFirstSum, launcher, timeout_s);
    check_first_sum(world);
    guard.reset();  // from here on commands use a Watchdog
    const base::ExitCode code = action(&world);
    ignore_late_sigterm();
    guard.emplace(MpiPhase::kEnd, launcher, timeout_s);
    return static_cast<int>(code);
  } catch (const AgreedError& e) {
    return fail(world, base::failure_of(e), Knowledge::kOnEveryRank);
  } catch (const std::exception& e) {
    return fail(world, base::failure_of(e), Knowledge::kOnThisRank);
  }
}

}  // namespace runner
