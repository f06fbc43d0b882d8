// Sets the number of OpenMP threads of a rank.
#include "workloads/parallel/thread_team.h"

#include <fmt/format.h>
#include <omp.h>

#include <cstdlib>
#include <set>
#include <string>

#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "runner/base/usable_cpus.h"

namespace parallel {
namespace {

/// "NAME=value" of the first environment variable that binds threads; "" if none does.
std::string binding_variable() {
  for (const char* name : {"GOMP_CPU_AFFINITY", "OMP_PROC_BIND", "OMP_PLACES"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string text = value;
    if (text == "false" || text == "FALSE") return "";
    return name + ("=" + text);
  }
  return "";
}

std::string limit_variable() {
  const char* value = std::getenv("OMP_THREAD_LIMIT");
  return value == nullptr ? "OpenMP" : "OMP_THREAD_LIMIT=" + std::string(value);
}

}  // namespace

void use_threads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  int team = 0;
  std::set<int> cpus;
#pragma omp parallel
  {
    const std::vector<int> mine = base::affinity_cpus();
#pragma omp critical
    {
      ++team;
      cpus.insert(mine.begin(), mine.end());
    }
  }
  if (team < threads) {
    throw base::ConfigError(
        fmt::format("{}: gives a rank {} of its {} threads: raise it, or set threads to {}",
                    limit_variable(), team, threads, team));
  }
  const std::string binding = binding_variable();
  if (!binding.empty() && !cpus.empty() && std::ssize(cpus) < threads) {
    throw base::ConfigError(
        fmt::format("{}: binds the {} threads of a rank to {}: unset it, or set threads to {}",
                    binding, threads, base::counted(std::ssize(cpus), "CPU"), cpus.size()));
  }
}

}  // namespace parallel
