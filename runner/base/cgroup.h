// The limits that this process's control groups set, for cgroup v1 and v2.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace base {

struct CgroupLimits {
  std::optional<double> cpus;                ///< quota in CPUs; empty: no limit
  std::optional<std::int64_t> memory_bytes;  ///< empty: no limit
  /// Bytes still free under the tightest memory limit; cached files count as free. Empty: no limit.
  std::optional<std::int64_t> memory_left_bytes = {};
  std::optional<std::int64_t> processes_left =
      {};  ///< threads that may still start; empty: no limit
};

/// The tightest limits of this process's groups and all their ancestors. A file that cannot be read
/// counts as no limit. `root`: where proc and the cgroup mounts are looked up, "/" or a test's
/// tree.
CgroupLimits cgroup_limits(const std::filesystem::path& root);

}  // namespace base
