// Makes text from outside safe to display.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace base {

/// Replaces each control character by '?' and tabs and newlines by blanks, and reads invalid UTF-8
/// bytes as Latin-1. The result is safe for a terminal and for JSON.
std::string printable(std::string_view text);

/// The same, but keeps line feeds, for text of several lines.
std::string printable_lines(std::string_view text);

/// Columns on a terminal, counted as one per code point.
std::size_t columns(std::string_view printable_text);

/// After these characters a long name or path may continue on another line.
inline constexpr std::string_view kNameJoints = "/_-";

/// The first `width` columns of the text, or all of it if it has fewer.
std::string first_columns(std::string_view printable_text, std::size_t width);

/// At most `width` columns: the middle is replaced by ".." so that both ends stay visible.
std::string shortened(std::string_view printable_text, std::size_t width);

/// 1536 -> "1.5 KiB".
std::string bytes_text(double bytes);
inline std::string bytes_text(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

/// 1, "rank" -> "1 rank"; 2, "rank" -> "2 ranks".
std::string counted(std::int64_t count, std::string_view what);

}  // namespace base
