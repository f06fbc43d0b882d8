// Properties and limits of this machine, read without MPI and without changing anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runner/base/cgroup.h"

namespace doctor {

/// A limit of this process; empty: unlimited.
using Limit = std::optional<std::int64_t>;

struct Limits {
  Limit open_files, processes, locked_memory, file_size, address_space, cpu_time, stack, core;
};

/// Facts, any of which may be unknown (empty).
struct HostFacts {
  std::string host;
  std::set<std::string> cpu_flags;  ///< as in /proc/cpuinfo; empty on CPUs other than x86
  std::string instruction_set;
  std::string governor, huge_pages, clock_source;
  std::optional<bool> smt;
  std::optional<std::int64_t> memory_available, shm_free, shm_total;
  std::int64_t online_cpus = 0;
  base::CgroupLimits cgroup;
  Limits limits;
  std::optional<std::int64_t> user_processes;  ///< threads of this user on this machine
  bool has_infiniband = false;
  double clock_read_ns = 0.0;
  std::optional<bool> clock_synchronized;
  bool can_drop_caches = false;
  std::optional<bool> advice_works;  ///< posix_fadvise(DONTNEED); empty if it could not be tested
};

/// `root`: "/", or a test's tree of /proc, /sys and /dev. Facts from system calls are always this
/// machine's.
HostFacts read_host(const std::filesystem::path& root);

/// A process of another job that uses CPUs.
struct BusyProcess {
  std::int64_t process = 0, user = 0;
  std::string name;
  double cpus = 0.0;
};
/// Processes that use more than a tenth of a CPU, busiest first, from two samples `pause_s` apart.
/// Excludes the job: the process `job_root`, its descendants and its ancestors.
std::vector<BusyProcess> busy_processes(const std::filesystem::path& root, double pause_s,
                                        std::int64_t job_root);

}  // namespace doctor
