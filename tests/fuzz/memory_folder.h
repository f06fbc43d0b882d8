// A folder in memory (/dev/shm), for readers that find files by their names.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace fuzz {

/// Exists as long as the object.
class MemoryFolder {
 public:
  MemoryFolder() {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~MemoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Creates the folders on the way to the file `name`. Returns the file's path.
  std::string write(const std::string& name, std::string_view content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << content;
    out.close();
    if (!out) std::abort();
    return file.string();
  }

 private:
  std::string path_ = "/dev/shm/trainmark_fuzz.XXXXXX";
};

}  // namespace fuzz
