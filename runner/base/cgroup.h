// What the control groups of this process allow it.
// Hides the hierarchies of cgroup v1 and v2 and where they are mounted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace base {

struct CgroupLimits {
  std::optional<double> cpus;                ///< quota in CPUs; none: no limit
  std::optional<std::int64_t> memory_bytes;  ///< none: no limit
  /// Of the tightest memory limit, what is not in use; cached files count as free. None: no limit.
  std::optional<std::int64_t> memory_left_bytes = {};
  std::optional<std::int64_t> processes_left =
      {};  ///< threads that may still start; none: no limit
};

/// The tightest limits on the way from this process's groups up to the root. What cannot be read
/// limits nothing. `root` is where proc and the cgroup mounts are looked for: "/", or a test's
/// tree.
CgroupLimits cgroup_limits(const std::filesystem::path& root);

}  // namespace base
