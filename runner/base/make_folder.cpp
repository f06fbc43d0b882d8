// Creates folders.
#include "runner/base/make_folder.h"

#include <filesystem>
#include <system_error>

#include "runner/base/error.h"

namespace base {

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw system_error("cannot make the folder " + path, error.value());
}

}  // namespace base
