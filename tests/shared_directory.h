// A directory that all ranks of a test see; rank 0 removes it when all are done.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "runner/communicator.h"

namespace runner {

class SharedDirectory {
 public:
  explicit SharedDirectory(const Communicator& world) : world_(world) {
    std::string path;
    if (world.rank() == 0) {
      path = (std::filesystem::temp_directory_path() / "trainmark-test-XXXXXX").string();
      if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + path);
    }
    path_ = world.broadcast(path, 0);
  }
  ~SharedDirectory() {
    world_.barrier();
    std::error_code ignored;
    if (world_.rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  const Communicator& world_;
  std::string path_;
};

}  // namespace runner
