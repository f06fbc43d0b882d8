// Paths of what is inside archives.
#include "runner/base/archive_path.h"

#include <filesystem>
#include <system_error>

namespace base {

std::optional<ArchivePath> archive_path(const std::string& path) {
  for (std::size_t end = path.size(); end != std::string::npos && end > 0;) {
    const std::string file = path.substr(0, end);
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (std::filesystem::is_directory(status)) return std::nullopt;
    if (std::filesystem::is_regular_file(status)) {
      std::string below = path.substr(end);
      below.erase(0, below.find_first_not_of('/'));
      below.erase(below.find_last_not_of('/') + 1);
      return ArchivePath{file, below};
    }
    end = path.find_last_of('/', end - 1);
  }
  return std::nullopt;
}

std::string file_at(const std::string& path) {
  const auto inside = archive_path(path);
  return inside ? inside->file : path;
}

}  // namespace base
