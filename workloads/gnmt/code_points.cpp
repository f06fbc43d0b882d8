// Text as code points, and Unicode properties by ICU.
#include "workloads/gnmt/code_points.h"

#include <fmt/core.h>
#include <unicode/ucasemap.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <memory>

#include "runner/base/error.h"
#include "runner/base/narrow.h"
#include "runner/base/utf8.h"

namespace gnmt {
namespace {

struct CloseCaseMap {
  void operator()(UCaseMap* map) const { ucasemap_close(map); }
};

bool has_category(char32_t c, std::uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void lower_ascii(std::string& text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
}

std::string full_lower_case(std::string_view utf8) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<UCaseMap, CloseCaseMap> map(ucasemap_open("", 0, &status));
  // No mapping makes text more than three times as long.
  std::string lower(3 * utf8.size(), '\0');
  const std::int32_t length =
      U_FAILURE(status) != 0
          ? 0
          : ucasemap_utf8ToLower(map.get(), lower.data(), base::narrow<std::int32_t>(lower.size()),
                                 utf8.data(), base::narrow<std::int32_t>(utf8.size()), &status);
  if (U_FAILURE(status) != 0) {
    throw base::SystemError(fmt::format("ICU cannot lower-case text: {}", u_errorName(status)));
  }
  lower.resize(static_cast<std::size_t>(length));
  return lower;
}

}  // namespace

std::u32string decode_utf8(std::string_view utf8) {
  std::u32string text;
  text.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const base::Utf8Sequence sequence = base::utf8_at(utf8, at);
    if (sequence.length == 0) {
      throw base::DataError(fmt::format("byte {}: expected UTF-8, found byte 0x{:02x}", at + 1,
                                        static_cast<unsigned char>(utf8[at])));
    }
    text += static_cast<char32_t>(sequence.code);
    at += sequence.length;
  }
  return text;
}

std::string encode_utf8(std::u32string_view text) {
  std::string utf8;
  utf8.reserve(text.size());
  for (const char32_t c : text) base::append_utf8(c, utf8);
  return utf8;
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_decimal_digit(char32_t c) { return has_category(c, U_GC_ND_MASK); }
bool is_punctuation(char32_t c) { return has_category(c, U_GC_P_MASK); }
bool is_symbol(char32_t c) { return has_category(c, U_GC_S_MASK); }
bool is_currency(char32_t c) { return has_category(c, U_GC_SC_MASK); }
bool is_alphabetic(char32_t c) { return u_isUAlphabetic(static_cast<UChar32>(c)) != 0; }
bool is_alphanumeric(char32_t c) { return is_alphabetic(c) || is_decimal_digit(c); }

std::string lower_case(std::string_view utf8) {
  if (!is_ascii(utf8)) return full_lower_case(utf8);
  std::string lower(utf8);
  lower_ascii(lower);
  return lower;
}

std::string_view without_trailing_space(std::string_view utf8) {
  std::size_t end = utf8.size();
  while (end > 0) {
    std::size_t start = end - 1;
    while (start > 0 && (static_cast<unsigned char>(utf8[start]) & 0xC0) == 0x80) --start;
    const base::Utf8Sequence last = base::utf8_at(utf8, start);
    if (last.length == 0 || !is_white_space(static_cast<char32_t>(last.code))) break;
    end = start;
  }
  return utf8.substr(0, end);
}

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::vector<std::string_view> split_at_space(std::string_view utf8) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  const auto end_part = [&](std::size_t end, std::size_t next) {
    if (end > begin) parts.push_back(utf8.substr(begin, end - begin));
    begin = next;
  };
  for (std::size_t at = 0; at < utf8.size();) {
    const base::Utf8Sequence sequence = base::utf8_at(utf8, at);
    const std::size_t next = at + std::max<std::size_t>(sequence.length, 1);
    if (sequence.length > 0 && is_white_space(static_cast<char32_t>(sequence.code))) {
      end_part(at, next);
    }
    at = next;
  }
  end_part(utf8.size(), utf8.size());
  return parts;
}

}  // namespace gnmt
