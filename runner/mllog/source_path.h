// Where a log says that a record was written.
#pragma once

#include <string_view>

namespace mllog {

/// The part of a source's path from the project's top-level folder on: "runner/mllog/x.cpp" for
/// "/home/me/trainmark/runner/mllog/x.cpp" and for "runner/mllog/x.cpp". The file's name if it lies
/// in no folder of the project. Derived from the path alone, so that an object which a compiler's
/// cache brings from another clone names the same source.
std::string_view path_in_project(std::string_view path);

}  // namespace mllog
