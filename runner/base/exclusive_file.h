// Creation of a file by exactly one of many processes, on network file systems too.
// Hides link(2), and what to do where a file system refuses hard links.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace base {

/// Creates `path` with `content` unless something is there; whether this call made it. Of any
/// number of callers on any hosts exactly one gets true, provided that their contents differ. The
/// file appears whole (hard link to a complete temporary file, which NFS does atomically; a lost
/// reply is recognised by the link count). Where the file system has no hard links, O_EXCL decides,
/// the file is read again to see whose it is, and others may see it while it is still empty.
/// Throws SystemError with path and reason.
bool create_exclusively(const std::string& path, std::string_view content);

/// What such a file holds, whose content ends with a line end; nothing where there is none. Waits
/// a moment for one that is not written yet.
std::optional<std::string> read_created(const std::string& path);

/// Text that no other process on any host has: host, process and 64 random bits.
std::string unique_token();

/// The same without hard links: what create_exclusively() falls back to.
bool create_with_o_excl(const std::string& path, std::string_view content);

}  // namespace base
