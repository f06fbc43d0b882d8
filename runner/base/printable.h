// Text that came from outside, made safe to show.
// Hides control characters, broken UTF-8, and the columns that characters take.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace base {

/// Without control characters (each becomes '?'; tabs and line ends a blank) and with bytes that
/// are no UTF-8 read as Latin-1: safe for a terminal and for JSON.
std::string printable(std::string_view text);

/// Columns on a terminal, one for each code point.
std::size_t columns(std::string_view printable_text);

/// At most `width` columns: the middle is replaced by ".." so that both ends stay visible.
std::string shortened(std::string_view printable_text, std::size_t width);

/// 1536 -> "1.5 KiB".
std::string bytes_text(double bytes);

}  // namespace base
