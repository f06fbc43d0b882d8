// The version of oneDNN.
#pragma once

#include <string>

namespace nn {

/// The version of the library loaded at run time, e.g. "2.6.3".
std::string library_version();

}  // namespace nn
