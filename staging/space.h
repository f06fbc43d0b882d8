// How many bytes may still be written to a folder.
#pragma once

#include <cstdint>
#include <string>

namespace staging {

struct Space {
  std::int64_t free_bytes = 0;
  bool is_in_memory = false;
};

/// For an existing folder. A tmpfs is also limited by the memory of the machine and of the control
/// group. Throws SystemError.
Space space_at(const std::string& directory);

/// The nearest existing folder at or above a path.
std::string nearest_folder(const std::string& path);

/// Memory that programs may still take: MemAvailable, limited by what the control group (version 2)
/// has left.
std::int64_t available_memory();

/// For a path that may not exist yet: the space of nearest_folder().
Space space_near(const std::string& path);

}  // namespace staging
