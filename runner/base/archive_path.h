// Paths of what is inside archives, such as "data.tar/train".
#pragma once

#include <optional>
#include <string>

namespace base {

/// A path that leads into a file as if that were a folder.
struct ArchivePath {
  std::string file;   ///< the part of the path that is a regular file
  std::string below;  ///< the rest, without "/" at either end; "" if it is the whole file
};

/// nullopt unless `path`, or a part of it from its beginning, is a regular file. Links are
/// followed.
std::optional<ArchivePath> archive_path(const std::string& path);

/// The file that contains what is at `path`: ArchivePath::file, else `path` itself.
std::string file_at(const std::string& path);

}  // namespace base
