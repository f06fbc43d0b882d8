// From a translation's tokens to plain text, which is what BLEU is computed of.
#pragma once

#include <string>
#include <string_view>

namespace gnmt {

/// Whose rules decide where apostrophes go. The reference of MLPerf's `gnmt` detokenizes its German
/// with the English ones.
enum class Language { kEnglish, kGerman };

/// Joins the pieces that subword-nmt cut words into, "Ha@@ us" to "Haus", and drops the special
/// tokens `<pad>`, `<s>` and `<\s>`, and white space at both ends.
std::string join_pieces(std::string_view tokens);

/// Plain text of Moses tokens between single blanks: unescapes characters, drops the blanks before
/// and behind punctuation, and gives quotation marks in turns to the word behind and before. A line
/// without words and one that is a single tag, `<...>`, stay as they are. Throws DataError if the
/// text is not UTF-8.
/// Source: mosesdecoder, scripts/tokenizer/detokenizer.perl 4134, for `-l en` and `-l de`.
std::string detokenize(std::string_view tokens, Language language);

}  // namespace gnmt
