// Which oneDNN this is.
// Hides its version call.
#pragma once

#include <string>

namespace nn {

/// "2.6.3", of the library loaded at run time.
std::string library_version();

}  // namespace nn
