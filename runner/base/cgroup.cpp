// Reads control group limits from /proc/self/cgroup, /proc/self/mountinfo and the v1 and v2 files.
#include "runner/base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace base {

namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::vector<std::string> first_line_words(const fs::path& file) {
  std::ifstream in(file);
  std::string line, word;
  std::getline(in, line);
  std::istringstream words(line);
  std::vector<std::string> all;
  while (words >> word) all.push_back(word);
  return all;
}

std::optional<std::int64_t> read_integer(const fs::path& file) {
  const std::vector<std::string> words = first_line_words(file);
  if (words.size() != 1) return {};
  return parse_integer(words[0]);
}

bool lists(const std::string& comma_separated, const std::string& wanted) {
  std::istringstream in(comma_separated);
  for (std::string item; std::getline(in, item, ',');) {
    if (item == wanted) return true;
  }
  return false;
}

/// A mounted hierarchy: the group `top`, a path as in /proc/self/cgroup, appears at `directory`.
struct Mount {
  fs::path top;
  fs::path directory;
};

/// The mount of v2 (empty controller) or of a v1 controller.
std::optional<Mount> find_mount(const fs::path& root, const std::string& controller) {
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line), after(line.substr(dash + 3));
    std::string skipped, top, directory, type, source, options;
    before >> skipped >> skipped >> skipped >> top >> directory;
    after >> type >> source >> options;
    const bool fits =
        controller.empty() ? type == "cgroup2" : type == "cgroup" && lists(options, controller);
    if (fits) return Mount{top, root / fs::path(directory).relative_path()};
  }
  return {};
}

/// This process's group in v2 (empty controller) or under a v1 controller.
std::optional<fs::path> own_group(const fs::path& root, const std::string& controller) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // hierarchy:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool fits = controller.empty() ? controllers.empty() : lists(controllers, controller);
    if (fits) return line.substr(second + 1);
  }
  return {};
}

/// The directories of this process's group and of its visible ancestors.
std::vector<fs::path> group_directories(const fs::path& root, const std::string& controller) {
  const std::optional<Mount> mount = find_mount(root, controller);
  const std::optional<fs::path> group = own_group(root, controller);
  if (!mount || !group) return {};
  fs::path below = group->lexically_relative(mount->top);
  // In a container the group's path may be the host's; then only the mount itself is visible to us.
  if (below.empty() || *below.begin() == "..") below = ".";
  std::vector<fs::path> directories = {mount->directory};
  for (const fs::path& part : below) {
    if (part != ".") directories.push_back(directories.back() / part);
  }
  return directories;
}

template <class T>
void tighten(std::optional<T>& limit, std::optional<T> found) {
  if (found && (!limit || *found < *limit)) limit = found;
}

std::optional<double> quota_v2(const fs::path& group) {  // "max 100000" or "150000 100000"
  const std::vector<std::string> words = first_line_words(group / "cpu.max");
  if (words.size() != 2) return {};
  const auto quota = parse_integer(words[0]), period = parse_integer(words[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return {};
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> quota_v1(const fs::path& group) {
  const auto quota = read_integer(group / "cpu.cfs_quota_us");
  const auto period = read_integer(group / "cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return {};  // -1: no limit
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<std::int64_t> memory_v1(const fs::path& group) {
  const auto bytes = read_integer(group / "memory.limit_in_bytes");
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;  // v1 writes almost 2^63 for "none"
  return bytes && *bytes < kNoLimit ? bytes : std::nullopt;
}

/// The value after `name` in a file of lines "name value", such as memory.stat; 0 if absent.
std::int64_t counted(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  std::string key;
  for (std::int64_t value = 0; in >> key >> value;) {
    if (key == name) return std::max<std::int64_t>(value, 0);
  }
  return 0;
}

/// What remains below `limit`. Cached files count as free: the kernel evicts them first.
std::optional<std::int64_t> memory_left(const fs::path& group, std::optional<std::int64_t> limit,
                                        const char* usage, const char* cached) {
  const auto used = read_integer(group / usage);
  if (!limit || !used) return {};
  const std::int64_t files = std::min(counted(group / "memory.stat", cached), *used);
  return std::max<std::int64_t>(*limit - (*used - files), 0);
}

std::optional<std::int64_t> processes_left(const fs::path& group) {
  const auto most = read_integer(group / "pids.max"), now = read_integer(group / "pids.current");
  if (!most || !now) return {};
  return std::max<std::int64_t>(*most - *now, 0);
}

}  // namespace

CgroupLimits cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  for (const fs::path& group : group_directories(root, "")) {
    tighten(limits.cpus, quota_v2(group));
    const auto bytes = read_integer(group / "memory.max");
    tighten(limits.memory_bytes, bytes);
    tighten(limits.memory_left_bytes, memory_left(group, bytes, "memory.current", "inactive_file"));
    tighten(limits.processes_left, processes_left(group));
  }
  for (const fs::path& group : group_directories(root, "cpu")) {
    tighten(limits.cpus, quota_v1(group));
  }
  for (const fs::path& group : group_directories(root, "memory")) {
    const auto bytes = memory_v1(group);
    tighten(limits.memory_bytes, bytes);
    tighten(limits.memory_left_bytes,
            memory_left(group, bytes, "memory.usage_in_bytes", "total_inactive_file"));
  }
  for (const fs::path& group : group_directories(root, "pids")) {
    tighten(limits.processes_left, processes_left(group));
  }
  return limits;
}

}  // namespace base
