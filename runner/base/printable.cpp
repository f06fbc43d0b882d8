// Text that came from outside, made safe to show.
// Hides control characters, broken UTF-8, and the columns that characters take.
#include "runner/base/printable.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace base {
namespace {

constexpr std::uint32_t kFirstPlain = 0x20;
constexpr std::uint32_t kDelete = 0x7f;
constexpr std::uint32_t kEndOfC1 = 0xa0;  ///< 0x80 .. 0x9f are control characters too

unsigned char byte_at(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

/// Length of the valid UTF-8 sequence at `index`, and its code point; length 0 when there is none.
struct Sequence {
  std::size_t length = 0;
  std::uint32_t code = 0;
};

Sequence sequence_at(std::string_view text, std::size_t index) {
  const unsigned char lead = byte_at(text, index);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length == 0 || lead > 0xf4 || index + length > text.size()) return {};
  std::uint32_t code = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned char next = byte_at(text, index + i);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3f);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return overlong || surrogate || code > 0x10ffff ? Sequence{} : Sequence{length, code};
}

/// Direction overrides and the like would let a log rearrange what stands around it.
bool rearranges(std::uint32_t code) {
  return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

void append_latin1(std::string& out, unsigned char byte) {
  if (byte < kEndOfC1) {
    out += '?';
    return;
  }
  out += static_cast<char>(0xc0 | (byte >> 6));
  out += static_cast<char>(0x80 | (byte & 0x3f));
}

bool starts_code_point(char character) {
  return (static_cast<unsigned char>(character) & 0xc0) != 0x80;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Sequence sequence = sequence_at(text, i);
    if (sequence.length == 0) {
      append_latin1(out, byte_at(text, i++));
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

std::size_t columns(std::string_view printable_text) {
  return static_cast<std::size_t>(
      std::count_if(printable_text.begin(), printable_text.end(), starts_code_point));
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
  const std::size_t head = kept / 3;  // ends tell more than beginnings: /resnet/result_3.txt
  const std::size_t tail = kept - head;
  return std::string(printable_text.substr(0, starts[head])) + ".." +
         std::string(printable_text.substr(starts[all - tail]));
}

}  // namespace base
