// Calls on files that fail as on a bad disk, or wait: a part of the fault library
// (fault_shim.cpp).
// TRAINMARK_TEST_ERRNO="<rank>:<call>:<n>:<error number>:<text>": on this rank the n-th such call
//   on a path that contains the text fails, and so do all later ones. Calls: open, read, write,
//   allocate, truncate, sync, rename, stat, list, folder (mkdir), space (statvfs).
// TRAINMARK_TEST_PAUSE="<file>:<folder>": the first read of this file creates <folder>/reached and
//   waits until <folder>/go exists.
#pragma once

#include <array>

namespace faults {

using Path = std::array<char, 4096>;

/// Of an open file; false if it is not known.
bool find_path(int fd, Path& path);
/// Whether `call` on `path` is to fail; sets errno.
bool fails(const char* call, const char* path);
bool fails(const char* call, int fd);
/// Waits if this is the file that a test waits at.
void pause_at(int fd);

}  // namespace faults
