// Where a log says that a record was written.
#include "runner/mllog/source_path.h"

#include <algorithm>
#include <optional>

namespace mllog {

std::string_view path_in_project(std::string_view path) {
  if (!path.starts_with('/')) return path;
  std::optional<std::size_t> begin;
  for (const char* const folder : {"/runner/", "/staging/", "/workloads/", "/analysis/"}) {
    const std::size_t at = path.rfind(folder);
    if (at != path.npos) begin = std::max(begin.value_or(0), at);
  }
  // Folders below tests/ have the names of those that they test.
  if (const std::size_t at = path.rfind("/tests/"); at != path.npos) begin = at;
  return path.substr(begin.value_or(path.rfind('/')) + 1);
}

}  // namespace mllog
