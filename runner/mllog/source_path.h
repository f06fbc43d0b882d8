// Where a log says that a record was written.
#pragma once

#include <string_view>

namespace mllog {

/// The part of a source's absolute path from the project's top-level folder on:
/// "runner/mllog/x.cpp" for "/home/me/trainmark/runner/mllog/x.cpp". The file's name if it lies in
/// none.
std::string_view below_top_folder(std::string_view path);

}  // namespace mllog
