// The rules that the program carries in itself: configs/rules/ when it was built.
// Hides how they got there.
#pragma once

#include <span>
#include <string_view>

namespace mllog::rules {

struct EmbeddedFile {
  std::string_view name;  ///< "rules/hpc/common.json"
  std::string_view text;
};

/// In the order of their names.
std::span<const EmbeddedFile> embedded_rules();

}  // namespace mllog::rules
