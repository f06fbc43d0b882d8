// Reads the affinity mask, whose size must be guessed, and the places of an OpenMP library.
#include "runner/base/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <set>

// Null in a program without an OpenMP library.
extern "C" {
[[gnu::weak]] int omp_get_num_places();
[[gnu::weak]] int omp_get_place_num_procs(int place);
[[gnu::weak]] void omp_get_place_proc_ids(int place, int* ids);
}

namespace base {

namespace {

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeSet>;

/// The CPUs among which OpenMP distributes its threads; empty if it does not bind them.
std::set<int> openmp_cpus() {
  std::set<int> cpus;
  const int places = omp_get_num_places == nullptr ? 0 : omp_get_num_places();
  for (int place = 0; place < places; ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    cpus.insert(ids.begin(), ids.end());
  }
  return cpus;
}

}  // namespace

std::vector<int> affinity_cpus() {
  constexpr int kMostCpus = 1 << 16;
  for (int capacity = 1024; capacity <= kMostCpus; capacity *= 2) {  // EINVAL: the mask is too
                                                                     // small
    const CpuSet set(CPU_ALLOC(static_cast<std::size_t>(capacity)));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    if (sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set.get())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {};
}

std::vector<int> process_cpus() {
  const std::vector<int> mine = affinity_cpus();
  std::set<int> cpus = openmp_cpus();
  cpus.insert(mine.begin(), mine.end());
  return {cpus.begin(), cpus.end()};
}

void use_process_cpus() {
  if (openmp_cpus().empty()) return;
  static_cast<void>(bind_this_thread(process_cpus()));  // if it fails, it is only slower
}

bool bind_this_thread(const std::vector<int>& cpus) {
  const auto capacity = static_cast<std::size_t>(cpus.back()) + 1;
  const CpuSet set(CPU_ALLOC(capacity));
  const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
  CPU_ZERO_S(bytes, set.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
  return sched_setaffinity(0, bytes, set.get()) == 0;
}

std::string cpu_ranges(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[first]);
    if (last > first) text += '-';
    if (last > first) text += std::to_string(cpus[last]);
    first = last + 1;
  }
  return text;
}

int cut_by_quota(int cpus, const CgroupLimits& limits) {
  if (!limits.cpus) return cpus;
  return std::clamp(static_cast<int>(std::min(std::ceil(*limits.cpus), 1e6)), 1, cpus);
}

}  // namespace base
