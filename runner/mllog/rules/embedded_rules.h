// The rules embedded in the program: configs/rules/ at build time.
#pragma once

#include <span>

#include "runner/base/embedded_file.h"

namespace mllog::rules {

/// Sorted by name: "hpc/common.json".
std::span<const base::EmbeddedFile> embedded_rules();

}  // namespace mllog::rules
