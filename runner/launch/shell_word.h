// Quotes text for bash.
#pragma once

#include <string>

namespace launch {

/// `text` quoted as one word of bash.
std::string shell_word(const std::string& text);

}  // namespace launch
