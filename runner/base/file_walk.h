// The files below a folder, shared out among several callers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace base {

/// The part of a caller among `count` who walk the same paths.
struct WalkShare {
  std::int64_t index = 0, count = 1;
};

/// Calls `visit` with the path of each regular file at or below `path` until it returns false. All
/// callers together see every file once, whatever order the file system lists them in. Folders are
/// visited in an order that has nothing to do with their names, so that the first files are like
/// all. Follows links, down to a depth no data set has. Leaves out what cannot be listed.
void walk_files(const std::string& path, WalkShare share,
                const std::function<bool(const std::string& file)>& visit);

}  // namespace base
