// Decoding and encoding of single UTF-8 sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace base {

struct Utf8Sequence {
  std::size_t length = 0;  ///< in bytes; 0 if there is no valid sequence
  std::uint32_t code = 0;  ///< its code point
};

/// The sequence at `index`, which must be below text.size(). Overlong sequences, surrogates and
/// code points beyond U+10FFFF are invalid.
Utf8Sequence utf8_at(std::string_view text, std::size_t index);

/// Appends the sequence of `code`, which must be at most U+10FFFF.
void append_utf8(std::uint32_t code, std::string& out);

}  // namespace base
