// Writes a whole file or nothing.
// Hides the temporary file, and that devices and pipes have none.
#pragma once

#include <string>
#include <string_view>

namespace base {

/// Replaces the file at `path`: writes beside it, syncs, renames. A symbolic link is followed. What
/// is there and no regular file (a device, a pipe) is written to and stays. Throws SystemError with
/// path and reason; a regular file is then as it was.
void write_file(const std::string& path, std::string_view text);

}  // namespace base
