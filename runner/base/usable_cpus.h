// The CPUs that this process is bound to.
#pragma once

#include <string>
#include <vector>

#include "runner/base/cgroup.h"

namespace base {

/// The CPU numbers of this thread's affinity mask, ascending; empty if it cannot be read.
std::vector<int> affinity_cpus();
/// The CPUs that this process may use, ascending; empty if unknown. With OMP_PROC_BIND and its
/// like, OpenMP has bound the main thread to one of them before main(), and other threads inherit
/// that.
std::vector<int> process_cpus();
/// Lets the calling thread, which is not OpenMP's, run on all of process_cpus().
void use_process_cpus();
/// Binds the calling thread, and threads that it starts later, to these CPUs (ascending, at least
/// one); false, with errno, if the system refuses.
[[nodiscard]] bool bind_this_thread(const std::vector<int>& cpus);
/// Formats ascending CPU numbers as the kernel does: "0-3,8".
std::string cpu_ranges(const std::vector<int>& cpus);
/// `cpus` limited by the quota, rounded up; at least 1.
int cut_by_quota(int cpus, const CgroupLimits& limits);

}  // namespace base
