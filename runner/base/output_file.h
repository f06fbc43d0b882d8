// The name under which telemetry still knows ReplacedFile.
// Hides nothing.
#pragma once

#include "runner/base/replaced_file.h"

namespace base {

using OutputFile = ReplacedFile;

}  // namespace base
