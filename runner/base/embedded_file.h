// A file compiled into the program by embed_json() of cmake/rooms.cmake.
#pragma once

#include <string_view>

namespace base {

struct EmbeddedFile {
  std::string_view name;  ///< its path relative to the embedded folder
  std::string_view text;
};

}  // namespace base
