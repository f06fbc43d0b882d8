// How much may still be written to a folder.
// Hides statvfs, tmpfs and memory limits.
#pragma once

#include <cstdint>
#include <string>

namespace staging {

struct Space {
  std::int64_t free_bytes = 0;
  bool is_in_memory = false;
};

/// For a folder that exists. A tmpfs is bounded by the machine's and the control group's memory
/// too. Throws SystemError.
Space space_at(const std::string& directory);

/// For a path that may not exist yet: that of the nearest folder at or above it.
Space space_near(const std::string& path);

}  // namespace staging
