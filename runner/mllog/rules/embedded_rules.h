// The rules that the program carries in itself: configs/rules/ when it was built.
// Hides how they got there.
#pragma once

#include <span>

#include "runner/base/embedded_file.h"

namespace mllog::rules {

/// In the order of their names: "hpc/common.json".
std::span<const base::EmbeddedFile> embedded_rules();

}  // namespace mllog::rules
