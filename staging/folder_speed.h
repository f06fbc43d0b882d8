// Measures how fast a folder's storage is written and read.
#pragma once

#include <cstdint>
#include <string>

#include "runner/base/clock.h"

namespace staging {

/// How far a measurement goes: it ends with the first of the two that is reached.
struct ProbeLimits {
  std::int64_t bytes = 0;
  double seconds = 0.0;
};

struct FolderSpeed {
  double write_bytes_per_s = 0.0, read_bytes_per_s = 0.0;
  std::int64_t bytes = 0;  ///< written, and read back
};

/// Writes and syncs a file without a name, drops it from memory and reads it back; each of the two
/// goes as far as `limits`. Nothing remains. On a full disk, or beyond a quota, all is 0. Throws
/// SystemError.
FolderSpeed measure_folder(const std::string& folder, const ProbeLimits& limits,
                           const base::Clock& clock);

}  // namespace staging
