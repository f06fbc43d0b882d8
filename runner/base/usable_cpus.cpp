// Reads the affinity mask, whose size must be guessed.
#include "runner/base/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>

namespace base {

namespace {

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

std::vector<int> affinity_cpus() {
  constexpr int kMostCpus = 1 << 16;
  for (int capacity = 1024; capacity <= kMostCpus; capacity *= 2) {  // EINVAL: the mask is too
                                                                     // small
    const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(static_cast<std::size_t>(capacity)));
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
