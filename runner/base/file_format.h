// What a file is that is not what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace base {

/// The kind of file that begins with these bytes, for messages: "a GIF image", "an HTML page, as a
/// failed download leaves it"; "" if it is not known. The first 64 bytes suffice.
std::string format_in_words(std::span<const std::byte> begin);

/// The same, or "N other bytes" of a file of `size` bytes.
std::string found_in_words(std::span<const std::byte> begin, std::int64_t size);

}  // namespace base
