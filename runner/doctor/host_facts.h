// What this machine is and allows, read without MPI and without changing anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runner/base/cgroup.h"

namespace doctor {

/// A limit of this process; none: unlimited.
using Limit = std::optional<std::int64_t>;

struct Limits {
  Limit open_files, processes, locked_memory, file_size, address_space, cpu_time, stack, core;
};

/// Facts of which any may be unknown (empty).
struct HostFacts {
  std::string host;
  std::set<std::string> cpu_flags;  ///< as /proc/cpuinfo names them; of other CPUs than x86 empty
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
  std::optional<bool> advice_works;  ///< posix_fadvise(DONTNEED); unknown where no file shows it
};

/// `root`: "/", or a test's tree of /proc, /sys and /dev; what comes from system calls is this
/// machine's.
HostFacts read_host(const std::filesystem::path& root);

/// A process that uses CPUs and is not of this job.
struct BusyProcess {
  std::int64_t process = 0, user = 0;
  std::string name;
  double cpus = 0.0;
};
/// Busiest first, those above a tenth of a CPU, from two looks that are `pause_s` apart. Left out
/// is the job: what descends from the process `job_root`, and that process and its ancestors.
std::vector<BusyProcess> busy_processes(const std::filesystem::path& root, double pause_s,
                                        std::int64_t job_root);

}  // namespace doctor
