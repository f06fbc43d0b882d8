// Creation of a file by exactly one of many processes, on network file systems too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace base {

/// Creates `path` with `content` unless it exists. Returns whether this call created it. Of any
/// number of callers on any hosts exactly one gets true, provided that their contents differ. The
/// file appears whole, as a hard link to a complete temporary file; NFS makes links atomically, and
/// a lost reply is recognised by the link count. Where the file system has no hard links, O_EXCL
/// decides and the file is read back to see who wrote it; others may see it while it is still
/// empty. Throws SystemError with path and reason.
bool create_exclusively(const std::string& path, std::string_view content);

/// The content of such a file, which must end with a newline; nothing if there is no file. Waits up
/// to a second for a file that is still being written.
std::optional<std::string> read_created(const std::string& path);

/// Text unique among all processes on all hosts: host, process and 64 random bits.
std::string unique_token();

/// The fallback of create_exclusively() for file systems without hard links.
bool create_with_o_excl(const std::string& path, std::string_view content);

}  // namespace base
