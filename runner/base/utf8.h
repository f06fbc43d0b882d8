// UTF-8, sequence by sequence.
// Hides which bytes are none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace base {

struct Utf8Sequence {
  std::size_t length = 0;  ///< bytes; 0 where there is no valid sequence
  std::uint32_t code = 0;  ///< its code point
};

/// The sequence at `index`, which is below text.size(). Overlong ones, surrogates and what lies
/// beyond U+10FFFF are none.
Utf8Sequence utf8_at(std::string_view text, std::size_t index);

/// `code` is at most U+10FFFF.
void append_utf8(std::uint32_t code, std::string& out);

}  // namespace base
