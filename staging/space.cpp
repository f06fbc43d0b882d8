// How many bytes may still be written to a folder.
#include "staging/space.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "runner/base/error.h"

namespace staging {
namespace {

std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream in(path);
  std::int64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;  // "max", or no such file
}

}  // namespace

std::int64_t available_memory() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  std::ifstream in("/proc/meminfo");
  for (std::string key; in >> key;) {
    std::int64_t kilobytes = 0;
    if (key == "MemAvailable:" && in >> kilobytes) available = kilobytes * 1024;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) available = std::min(available, std::max<std::int64_t>(*limit - *used, 0));
  return available;
}

Space space_at(const std::string& directory) {
  struct statvfs volume {};
  struct statfs kind {};
  if (::statvfs(directory.c_str(), &volume) != 0 || ::statfs(directory.c_str(), &kind) != 0) {
    throw base::system_error(directory + ": free space cannot be learnt", errno);
  }
  Space space;
  space.free_bytes =
      static_cast<std::int64_t>(volume.f_bavail) * static_cast<std::int64_t>(volume.f_frsize);
  space.is_in_memory = kind.f_type == TMPFS_MAGIC || kind.f_type == RAMFS_MAGIC;
  if (space.is_in_memory) space.free_bytes = std::min(space.free_bytes, available_memory());
  return space;
}

std::string nearest_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(path, error);
  while (!std::filesystem::is_directory(folder, error) && folder != folder.root_path()) {
    folder = folder.parent_path();
  }
  return folder.string();
}

Space space_near(const std::string& path) { return space_at(nearest_folder(path)); }

}  // namespace staging
