// Sets the number of OpenMP threads of a rank.
#include "workloads/parallel/thread_team.h"

#include <fmt/format.h>
#include <omp.h>

#include <string>

#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "runner/openmp_team.h"

namespace parallel {

void use_threads(int threads) {
  omp_set_num_threads(threads);
  const runner::OpenMpTeam team = runner::count_team(threads);
  if (team.threads < threads) {
    throw base::ConfigError(fmt::format(
        "{}: gives a rank {} of its {} threads: raise it, or set threads to {}",
        base::printable(runner::limiting_variable(threads)), team.threads, threads, team.threads));
  }
  const std::string binding = base::printable(runner::binding_variable());
  if (!binding.empty() && !team.cpus.empty() && std::ssize(team.cpus) < threads) {
    throw base::ConfigError(fmt::format(
        "{}: binds the {} threads of a rank to {}: unset it, or set threads to {}", binding,
        threads, base::counted(std::ssize(team.cpus), "CPU"), team.cpus.size()));
  }
}

}  // namespace parallel
