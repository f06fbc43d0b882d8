// Adds up needs by file system.
#include "runner/disk_room.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <system_error>

#include "runner/base/error.h"
#include "runner/base/printable.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

fs::path nearest_folder(const std::string& path) {
  std::error_code error;
  fs::path folder = fs::absolute(path, error);
  while (!fs::exists(folder, error) && folder != folder.root_path()) folder = folder.parent_path();
  return folder;
}

}  // namespace

std::optional<std::int64_t> free_bytes(const std::string& folder) {
  std::error_code error;
  const auto space = fs::space(nearest_folder(folder), error);
  if (error || space.capacity == 0) return std::nullopt;  // some file systems have no size
  return static_cast<std::int64_t>(space.available);
}

void require_room(const std::vector<DiskNeed>& needs) {
  struct Volume {
    std::int64_t bytes = 0;
    std::string folder, text;
  };
  std::map<dev_t, Volume> volumes;
  for (const DiskNeed& need : needs) {
    struct stat state {};
    if (::stat(nearest_folder(need.folder).c_str(), &state) != 0) continue;
    Volume& volume = volumes[state.st_dev];
    volume.bytes += need.bytes;
    volume.folder = need.folder;
    volume.text += fmt::format("{}{} of {} in {}", volume.text.empty() ? "" : ", ",
                               base::bytes_text(need.bytes), need.what, need.folder);
  }
  for (const auto& [device, volume] : volumes) {
    const auto free = free_bytes(volume.folder);
    if (!free || *free >= volume.bytes) continue;
    throw base::SystemError(
        fmt::format("{}: expected {} free bytes for what the run will write ({}), found {}: free "
                    "some, or choose "
                    "another folder",
                    volume.folder, volume.bytes, volume.text, *free));
  }
}

}  // namespace runner
