// Text as code points, and the Unicode properties that scoring and detokenizing ask for.
// Hides ICU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gnmt {

/// The code points of UTF-8 text. Throws DataError naming the first byte that is not UTF-8.
std::u32string decode_utf8(std::string_view utf8);

std::string encode_utf8(std::u32string_view text);

/// White space as Python's str.split() and str.strip() understand it: also the separators U+001C to
/// U+001F, which Unicode's property leaves out.
bool is_white_space(char32_t c);

bool is_decimal_digit(char32_t c);  ///< category Nd
bool is_punctuation(char32_t c);    ///< categories P*
bool is_symbol(char32_t c);         ///< categories S*
bool is_currency(char32_t c);       ///< category Sc
bool is_alphabetic(char32_t c);     ///< property Alphabetic
bool is_alphanumeric(char32_t c);   ///< property Alphabetic or category Nd

/// Unicode's full lower-case mapping without a locale, as Python's str.lower(): a capital sigma at
/// a word's end becomes a final one. The text must be UTF-8.
std::string lower_case(std::string_view utf8);

/// The text without white space at its end.
std::string_view without_trailing_space(std::string_view utf8);

/// Replaces each `from`, which must not be empty, from the left.
void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to);

/// The parts between runs of white space. Bytes that are not UTF-8 count as other characters.
std::vector<std::string_view> split_at_space(std::string_view utf8);

}  // namespace gnmt
