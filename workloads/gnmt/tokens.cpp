// The tokenizers of sacreBLEU, by scans over code points.
#include "workloads/gnmt/tokens.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "runner/base/error.h"
#include "workloads/gnmt/code_points.h"

namespace gnmt {
namespace {

constexpr std::array<std::pair<Tokenizer, const char*>, 3> kTokenizers = {
    {{Tokenizer::kNone, "none"}, {Tokenizer::k13a, "13a"}, {Tokenizer::kIntl, "intl"}}};

/// Where blanks go around a pair of characters, besides the one between them.
enum class Outside { kBefore, kAfter };

/// Separates each character of `first` from one of `second` behind it. Pairs do not overlap: they
/// are taken from the left, as a regular expression's matches are.
template <class First, class Second>
std::u32string separate_pairs(std::u32string_view text, First first, Second second,
                              Outside outside) {
  std::u32string result;
  result.reserve(text.size() * 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
      continue;
    }
    if (outside == Outside::kBefore) result += U' ';
    result += text[i];
    result += U' ';
    result += text[++i];
    if (outside == Outside::kAfter) result += U' ';
  }
  return result;
}

/// Puts blanks around each character that is `alone`.
template <class Alone>
std::u32string separate(std::u32string_view text, Alone alone) {
  std::u32string result;
  result.reserve(text.size() * 2);
  for (const char32_t c : text) {
    const bool is_alone = alone(c);
    if (is_alone) result += U' ';
    result += c;
    if (is_alone) result += U' ';
  }
  return result;
}

std::u32string tokenize_intl(std::u32string_view text) {
  const auto mark = [](char32_t c) { return c != U'\\' && is_punctuation(c); };
  const auto no_digit = [](char32_t c) { return !is_decimal_digit(c); };
  const std::u32string first = separate_pairs(text, no_digit, mark, Outside::kAfter);
  return separate(separate_pairs(first, mark, no_digit, Outside::kBefore), is_symbol);
}

bool is_mark_of_13a(char32_t c) {
  const auto within = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
  return within(U' ', U'&') || within(U'(', U'+') || c == U'/' || within(U':', U'@') ||
         within(U'[', U'`') || within(U'{', U'~');
}

std::u32string tokenize_13a(std::u32string_view line) {
  const auto digit = [](char32_t c) { return c >= U'0' && c <= U'9'; };
  const auto no_digit = [digit](char32_t c) { return !digit(c); };
  const auto point = [](char32_t c) { return c == U'.' || c == U','; };
  const auto hyphen = [](char32_t c) { return c == U'-'; };
  std::u32string text(line);
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  text = separate(U" " + text + U" ", is_mark_of_13a);
  text = separate_pairs(text, no_digit, point, Outside::kAfter);
  text = separate_pairs(text, point, no_digit, Outside::kBefore);
  return separate_pairs(text, digit, hyphen, Outside::kAfter);
}

std::u32string tokenize(std::u32string text, Tokenizer tokenizer) {
  if (tokenizer == Tokenizer::kIntl) return tokenize_intl(text);
  if (tokenizer == Tokenizer::k13a) return tokenize_13a(text);
  return text;
}

}  // namespace

const char* to_string(Tokenizer tokenizer) {
  for (const auto& [value, name] : kTokenizers) {
    if (value == tokenizer) return name;
  }
  throw base::Error(base::ExitCode::kInternal, "to_string: unknown tokenizer");
}

Tokenizer parse_tokenizer(std::string_view name) {
  for (const auto& [value, known] : kTokenizers) {
    if (name == known) return value;
  }
  throw base::ConfigError(
      fmt::format("tokenizer: expected none, 13a or intl, got '{}'", std::string(name)));
}

std::vector<std::string> words_of(std::string_view sentence, Tokenizer tokenizer, Casing casing) {
  const std::string_view trimmed = without_trailing_space(sentence);
  std::u32string text = decode_utf8(trimmed);
  if (casing == Casing::kLower) text = decode_utf8(lower_case(trimmed));
  const std::string tokens = encode_utf8(tokenize(std::move(text), tokenizer));
  const std::vector<std::string_view> words = split_at_space(tokens);
  return {words.begin(), words.end()};
}

}  // namespace gnmt
