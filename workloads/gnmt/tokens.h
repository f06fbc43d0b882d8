// How a sentence is cut into the words that BLEU counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gnmt {

/// Source: sacreBLEU 1.2.10.
enum class Tokenizer {
  kNone,  ///< white space only
  k13a,   ///< of NIST's mteval-v13a: made for ASCII
  kIntl   ///< of NIST's mteval-v14 --international-tokenization: Unicode's categories. MLPerf's.
};

/// "none", "13a", "intl".
const char* to_string(Tokenizer tokenizer);
/// Throws ConfigError for other names.
Tokenizer parse_tokenizer(std::string_view name);

enum class Casing {
  kKept,
  kLower  ///< by lower_case()
};

/// The words of a sentence. White space at its end is dropped first, as sacreBLEU does.
///
/// `intl` separates punctuation from what is no digit and symbols from everything, so that a full
/// stop behind a digit stays with it. As in sacreBLEU 1.2.10, and unlike 2.0, the backslash is no
/// punctuation: it escapes the bracket behind it in that program's regular expression.
///
/// Properties of characters are those of the installed ICU's Unicode version. Throws DataError if
/// the sentence is not UTF-8.
std::vector<std::string> words_of(std::string_view sentence, Tokenizer tokenizer, Casing casing);

}  // namespace gnmt
