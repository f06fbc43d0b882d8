// Starts a team and counts it.
#include "runner/openmp_team.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <system_error>
#include <thread>

#include "runner/base/error.h"
#include "runner/base/usable_cpus.h"

namespace runner {
namespace {

/// "NAME=value", or "" if the variable is not set.
std::string set_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? "" : fmt::format("{}={}", name, value);
}

/// Throws SystemError unless `threads` threads besides this one can live at the same time.
void require_threads(int threads) {
  std::atomic<bool> may_end = false;
  std::vector<std::jthread> others;
  try {
    while (std::ssize(others) < threads) others.emplace_back([&may_end] { may_end.wait(false); });
  } catch (const std::system_error& e) {
    may_end = true;
    may_end.notify_all();
    throw base::thread_error(fmt::format("OpenMP, with {} threads", threads + 1), e);
  }
  may_end = true;
  may_end.notify_all();
}

}  // namespace

OpenMpTeam count_team(int threads) {
  // OpenMP keeps the threads of earlier teams.
  static std::atomic<int> largest = 1;
  if (threads > largest) require_threads(threads - 1);
  largest = std::max(largest.load(), threads);
  omp_set_dynamic(0);  // or the load of the moment would decide
  OpenMpTeam team;
  std::set<int> cpus;
#pragma omp parallel num_threads(threads)
  {
    const std::vector<int> mine = base::affinity_cpus();
#pragma omp critical
    {
      ++team.threads;
      cpus.insert(mine.begin(), mine.end());
    }
  }
  team.cpus.assign(cpus.begin(), cpus.end());
  return team;
}

std::string limiting_variable(int threads) {
  std::string variable;
  if (omp_get_max_active_levels() < 1) variable = set_variable("OMP_MAX_ACTIVE_LEVELS");
  if (variable.empty() && omp_get_thread_limit() < threads) {
    variable = set_variable("OMP_THREAD_LIMIT");
  }
  return variable.empty() ? "OpenMP" : variable;
}

std::string binding_variable() {
  for (const char* const name : {"GOMP_CPU_AFFINITY", "OMP_PROC_BIND", "OMP_PLACES"}) {
    std::string variable = set_variable(name);
    if (variable.empty()) continue;
    return variable.ends_with("=false") || variable.ends_with("=FALSE") ? "" : variable;
  }
  return "";
}

}  // namespace runner
