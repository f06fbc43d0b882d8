// A file that the program carries in itself.
// Hides nothing: cmake/rooms.cmake's embed_json() puts it there.
#pragma once

#include <string_view>

namespace base {

struct EmbeddedFile {
  std::string_view name;  ///< its path below the folder that was embedded
  std::string_view text;
};

}  // namespace base
