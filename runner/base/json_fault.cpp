// Why a text is not JSON.
#include "runner/base/json_fault.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runner/base/utf8.h"

namespace base {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kLongestWord = 40;

bool is_in_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '+' || c == '-' || c == '.';
}

/// The letters, digits and signs around `at`.
std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t begin = at, end = at;
  while (begin > 0 && is_in_word(text[begin - 1])) --begin;
  while (end < text.size() && is_in_word(text[end])) ++end;
  return text.substr(begin, std::min(end - begin, kLongestWord));
}

/// What to write instead of words that other languages have; "" for other words.
std::string_view advice_on(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWords = {{
      {"None", "JSON has null"},
      {"True", "JSON has true"},
      {"False", "JSON has false"},
      {"NaN", "JSON has finite numbers only"},
      {"nan", "JSON has finite numbers only"},
      {"Infinity", "JSON has finite numbers only"},
      {"inf", "JSON has finite numbers only"},
      {"undefined", "JSON has null"},
  }};
  const auto* const found = std::find_if(kWords.begin(), kWords.end(),
                                         [&](const auto& one) { return one.first == word; });
  return found == kWords.end() ? "" : found->second;
}

/// The last byte before `at` that is no blank; 0 if there is none.
char before(std::string_view text, std::size_t at) {
  const std::size_t found = text.substr(0, at).find_last_not_of(" \t\r\n");
  return found == std::string_view::npos ? '\0' : text[found];
}

std::string found_at(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (is_in_word(c)) {
    const std::string_view word = word_at(text, at);
    const std::string_view advice = advice_on(word);
    return fmt::format("'{}'{}{}", word, advice.empty() ? "" : "; ", advice);
  }
  if (c == '\'') return "a single quote; JSON has double quotes";
  if ((c == '}' || c == ']') && before(text, at) == ',') {
    return fmt::format("'{}' after a comma; remove the comma", c);
  }
  if (c == '/' || c == '#') return fmt::format("'{}'; comments are not allowed here", c);
  return fmt::format("'{}'", c);
}

}  // namespace

std::string place_in_text(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  return fmt::format("line {}, column {}", line, offset - before.rfind('\n'));  // npos + 1 is 0
}

std::string other_encoding(std::string_view text) {
  constexpr std::array kMarks = {"\xff\xfe"sv, "\xfe\xff"sv};
  const bool has_mark = std::any_of(kMarks.begin(), kMarks.end(),
                                    [&](std::string_view mark) { return text.starts_with(mark); });
  const bool has_zeros = text.size() >= 4 && ((text[0] == '\0' && text[2] == '\0') ||
                                              (text[1] == '\0' && text[3] == '\0'));
  const bool is_utf16 = has_mark || (has_zeros && text.substr(0, 4) != "\0\0\0\0"sv);
  return is_utf16 ? "UTF-16; convert it, for example by iconv -f UTF-16 -t UTF-8" : "";
}

std::string explain_json_fault(std::string_view text, std::size_t at, std::string_view expected) {
  const std::string encoding = other_encoding(text);
  if (!encoding.empty()) return "expected UTF-8, found " + encoding;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return fmt::format("expected {}, found an empty file", expected);
  }
  if (at >= text.size()) return fmt::format("expected {}, found the end of the file", expected);
  const auto byte = static_cast<unsigned char>(text[at]);
  constexpr unsigned char kBlank = 0x20, kNotAscii = 0x80;
  if (byte >= kNotAscii) {
    // The parser stops at the byte that breaks a sequence, which may be one after its first.
    const bool is_whole = utf8_at(text, at).length > 0;
    return is_whole ? fmt::format("expected {}, found '{}'", expected,
                                  text.substr(at, utf8_at(text, at).length))
                    : fmt::format("the byte 0x{:02X} is not UTF-8; save the file as UTF-8", byte);
  }
  if (byte < kBlank) {
    return fmt::format("expected {}, found a control character (0x{:02X})", expected, byte);
  }
  return fmt::format("expected {}, found {}", expected, found_at(text, at));
}

}  // namespace base
