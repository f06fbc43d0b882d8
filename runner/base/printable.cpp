// Makes text from outside safe to display.
#include "runner/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runner/base/utf8.h"

namespace base {
namespace {

constexpr std::uint32_t kFirstPlain = 0x20;
constexpr std::uint32_t kDelete = 0x7f;
constexpr std::uint32_t kEndOfC1 = 0xa0;  ///< 0x80 .. 0x9f are control characters too

/// Invisible and bidirectional controls could reorder the surrounding text of a message.
bool rearranges(std::uint32_t code) {
  return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/// Latin-1 bytes 0x80 .. 0x9f are control characters.
void append_latin1(std::string& out, unsigned char byte) {
  if (byte < kEndOfC1) {
    out += '?';
  } else {
    append_utf8(byte, out);
  }
}

bool starts_code_point(char character) {
  return (static_cast<unsigned char>(character) & 0xc0) != 0x80;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Sequence sequence = utf8_at(text, i);
    if (sequence.length == 0) {
      append_latin1(out, static_cast<unsigned char>(text[i++]));
      continue;
    }
    const std::uint32_t code = sequence.code;
    if (code == '\t' || code == '\n' || code == '\r') {
      out += ' ';
    } else if (code < kFirstPlain || (code >= kDelete && code < kEndOfC1) || rearranges(code)) {
      out += '?';
    } else {
      out += text.substr(i, sequence.length);
    }
    i += sequence.length;
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) out += '\n';
    out += printable(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::size_t columns(std::string_view printable_text) {
  return static_cast<std::size_t>(
      std::count_if(printable_text.begin(), printable_text.end(), starts_code_point));
}

std::string first_columns(std::string_view printable_text, std::size_t width) {
  std::size_t end = 0, seen = 0;
  for (; end < printable_text.size(); ++end) {
    if (starts_code_point(printable_text[end]) && ++seen > width) break;
  }
  return std::string(printable_text.substr(0, end));
}

std::string shortened(std::string_view printable_text, std::size_t width) {
  const std::size_t all = columns(printable_text);
  if (all <= width) return std::string(printable_text);
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < printable_text.size(); ++i) {
    if (starts_code_point(printable_text[i])) starts.push_back(i);
  }
  constexpr std::size_t kDots = 2;
  if (width <= kDots) return std::string(width, '.');
  const std::size_t kept = width - kDots;
  const std::size_t head = kept / 3;  // keeps more of the end, which tells more:
                                      // /resnet/result_3.txt
  const std::size_t tail = kept - head;
  return std::string(printable_text.substr(0, starts[head])) + ".." +
         std::string(printable_text.substr(starts[all - tail]));
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace base
