// The CPUs that this process is bound to.
// Hides the affinity mask.
#pragma once

#include <string>
#include <vector>

#include "runner/base/cgroup.h"

namespace base {

/// Numbers of the CPUs in this thread's affinity mask, rising; empty where it cannot be read.
std::vector<int> affinity_cpus();
/// Rising numbers as the kernel writes them: "0-3,8".
std::string cpu_ranges(const std::vector<int>& cpus);
/// `cpus` cut by the quota, rounded up: at least 1.
int cut_by_quota(int cpus, const CgroupLimits& limits);

}  // namespace base
