// The rules of Moses' detokenizer, by scans over code points.
#include "workloads/gnmt/detokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "workloads/gnmt/code_points.h"

namespace gnmt {
namespace {

using Text = std::u32string_view;

constexpr std::array<std::pair<Text, Text>, 11> kEscapes = {{{U"&bar;", U"|"},
                                                             {U"&#124;", U"|"},
                                                             {U"&lt;", U"<"},
                                                             {U"&gt;", U">"},
                                                             {U"&bra;", U"["},
                                                             {U"&ket;", U"]"},
                                                             {U"&quot;", U"\""},
                                                             {U"&apos;", U"'"},
                                                             {U"&#91;", U"["},
                                                             {U"&#93;", U"]"},
                                                             {U"&amp;", U"&"}}};

/// Chinese, Japanese and Korean characters: between two of them there are no blanks.
constexpr std::array<std::pair<char32_t, char32_t>, 8> kCjk = {{{0x1100, 0x11FF},
                                                                {0x2E80, 0xA4CF},
                                                                {0xA840, 0xA87F},
                                                                {0xAC00, 0xD7AF},
                                                                {0xF900, 0xFAFF},
                                                                {0xFE30, 0xFE4F},
                                                                {0xFF65, 0xFFDC},
                                                                {0x20000, 0x2FFFF}}};

bool is_cjk(char32_t c) {
  return std::any_of(kCjk.begin(), kCjk.end(),
                     [c](const auto& range) { return c >= range.first && c <= range.second; });
}

bool is_one_of(char32_t c, Text characters) { return characters.find(c) != Text::npos; }

bool consists_of(Text word, Text characters) {
  return !word.empty() && word.find_first_not_of(characters) == Text::npos;
}

bool opens(Text word) {
  const auto opening = [](char32_t c) { return is_currency(c) || is_one_of(c, U"([{¿¡"); };
  return !word.empty() && std::all_of(word.begin(), word.end(), opening);
}

bool closes(Text word) { return consists_of(word, U",.?!:;\\%}])"); }

bool is_quotation_mark(Text word) { return consists_of(word, U"'\"„“`"); }

/// What counts as the same mark: German ones as the straight one.
std::u32string normalized(Text mark) {
  return consists_of(mark, U"„“”") ? U"\"" : std::u32string(mark);
}

/// The words between single blanks; several blanks have empty words between them.
std::vector<Text> words_at_blanks(Text text) {
  std::vector<Text> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(U' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// Puts words together, from left to right.
class Joiner {
 public:
  Joiner(std::vector<Text> words, Language language)
      : words_(std::move(words)), language_(language) {}

  std::u32string joined() {
    for (std::size_t i = 0; i < words_.size(); ++i) add(i);
    return std::move(text_);
  }

 private:
  enum class Blank { kBefore, kNone };

  void add(std::size_t i) {
    const Text word = words_[i], before = i > 0 ? words_[i - 1] : Text();
    if (!word.empty() && is_cjk(word.front())) {
      append(word, !before.empty() && is_cjk(before.back()) ? Blank::kNone : Blank::kBefore);
    } else if (opens(word)) {
      append(word, Blank::kBefore);
      blank_is_due_ = false;
    } else if (closes(word) || is_contraction(word, before)) {
      append(word, Blank::kNone);
    } else if (is_quotation_mark(word)) {
      add_quotation_mark(word, before);
    } else {
      append(word, Blank::kBefore);
    }
  }

  /// Appends a word, behind which a blank is due.
  void append(Text word, Blank blank) {
    if (blank == Blank::kBefore && blank_is_due_) text_ += U' ';
    text_ += word;
    blank_is_due_ = true;
  }

  /// "isn" and "'t".
  bool is_contraction(Text word, Text before) const {
    return language_ == Language::kEnglish && word.size() > 1 && word[0] == U'\'' &&
           is_alphabetic(word[1]) && !before.empty() && is_alphanumeric(before.back());
  }

  void add_quotation_mark(Text mark, Text before) {
    int& count = marks_[normalized(mark)];
    if (count % 2 == 1) {
      append(mark, Blank::kNone);
      ++count;
    } else if (language_ == Language::kEnglish && mark == U"'" && before.ends_with(U's')) {
      append(mark, Blank::kNone);  // a possessive: the Jones' house
    } else {
      append(mark, Blank::kBefore);
      blank_is_due_ = false;
      ++count;
    }
  }

  const std::vector<Text> words_;
  const Language language_;
  std::u32string text_;
  bool blank_is_due_ = true;
  std::map<std::u32string, int> marks_;  ///< how many there were of each
};

/// Makes one blank of several, and none at both ends.
std::u32string tidied(Text text) {
  std::u32string result;
  for (const char32_t c : text) {
    if (c != U' ' || (!result.empty() && result.back() != U' ')) result += c;
  }
  if (result.ends_with(U' ')) result.pop_back();
  return result;
}

bool is_left_alone(Text text) {
  const bool is_tag = text.size() > 2 && text.front() == U'<' && text.back() == U'>';
  return is_tag || std::all_of(text.begin(), text.end(), is_white_space);
}

}  // namespace

std::string join_pieces(std::string_view tokens) {
  std::u32string text = decode_utf8(tokens);
  for (const Text dropped : {U"@@ ", U"@@", U"<s>", U"<\\s>", U"<pad>"}) {
    replace_all(text, dropped, U"");
  }
  const auto first = std::find_if_not(text.begin(), text.end(), is_white_space);
  const std::string joined = encode_utf8(std::u32string(first, text.end()));
  return std::string(without_trailing_space(joined));
}

std::string detokenize(std::string_view tokens, Language language) {
  std::u32string text = decode_utf8(tokens);
  if (is_left_alone(text)) return std::string(tokens);
  text = U" " + text + U" ";
  replace_all(text, U" @-@ ", U"-");
  for (const auto& [escape, character] : kEscapes) replace_all(text, escape, character);
  return encode_utf8(tidied(Joiner(words_at_blanks(text), language).joined()));
}

}  // namespace gnmt
