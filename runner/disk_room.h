// Whether disks have room for what a run will write, known before it trains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace runner {

/// Bytes that this user may still write to `folder`, or to its nearest existing ancestor; nothing
/// if unknown.
std::optional<std::int64_t> free_bytes(const std::string& folder);

/// What will be written below a folder, which may not exist yet.
struct DiskNeed {
  std::string what;  ///< "weights"
  std::string folder;
  std::int64_t bytes = 0;
};

/// Throws SystemError naming the folders of a file system that has no room for all of its needs.
void require_room(const std::vector<DiskNeed>& needs);

}  // namespace runner
