// The CPUs that this process is bound to.
#pragma once

#include <string>
#include <vector>

#include "runner/base/cgroup.h"

namespace base {

/// The CPU numbers of this thread's affinity mask, ascending; empty if it cannot be read.
std::vector<int> affinity_cpus();
/// Formats ascending CPU numbers as the kernel does: "0-3,8".
std::string cpu_ranges(const std::vector<int>& cpus);
/// `cpus` limited by the quota, rounded up; at least 1.
int cut_by_quota(int cpus, const CgroupLimits& limits);

}  // namespace base
