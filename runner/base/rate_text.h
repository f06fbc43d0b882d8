// Rates of moving bytes, for people.
#pragma once

#include <string>

namespace base {

/// 4.1e7 bytes per second -> "41 MB/s".
std::string rate_text(double bytes_per_second);

}  // namespace base
