// The words that a translation model knows, and their numbers.
#include "workloads/gnmt/vocabulary.h"

#include <fmt/core.h>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/narrow.h"
#include "runner/base/printable.h"
#include "workloads/gnmt/code_points.h"
#include "workloads/gnmt/text_lines.h"

namespace gnmt {
namespace {

constexpr std::size_t kShownColumns = 40;

base::DataError unexpected_word(const TextLines& lines, const char* expected,
                                std::string_view found) {
  return base::DataError(fmt::format("{}: expected {}, found '{}'", lines.place(), expected,
                                     base::shortened(base::printable(found), kShownColumns)));
}

}  // namespace

Vocabulary::Vocabulary(const std::string& path, std::int64_t multiple) {
  for (const char* special : {"<pad>", "<unk>", "<s>", "<\\s>"}) add(special);
  TextLines lines(path);
  for (std::string line; lines.next(line);) {
    const std::vector<std::string_view> words = split_at_space(line);
    if (words.size() != 1) throw unexpected_word(lines, "one word", line);
    if (ids_.contains(words[0])) throw unexpected_word(lines, "a word that is new", words[0]);
    if (size() == kMostWords) {
      throw base::DataError(
          fmt::format("{}: expected at most {} words", lines.place(), kMostWords - kSpecialWords));
    }
    add(std::string(words[0]));
  }
  if (lines.number() == 0) {
    throw base::DataError(fmt::format("{}: expected a word a line, found an empty file", path));
  }
  if (base::round_up(size(), multiple) > kMostWords) {
    throw base::DataError(
        fmt::format("{}: expected at most {} words, filled up to a multiple of {}", path,
                    kMostWords, multiple));
  }
  for (int i = 0; size() % multiple != 0; ++i) add(fmt::format("madeupword{:04}", i));
}

void Vocabulary::add(const std::string& word) {
  ids_.emplace(word, base::narrow<WordId>(words_.size()));
  words_.push_back(word);
}

WordId Vocabulary::id_of(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

std::vector<WordId> Vocabulary::encode(std::string_view line) const {
  std::vector<WordId> ids = {kBegin};
  for (const std::string_view word : split_at_space(line)) ids.push_back(id_of(word));
  ids.push_back(kEnd);
  return ids;
}

std::string Vocabulary::decode(std::span<const WordId> ids) const {
  std::string text;
  for (std::size_t i = 0; i < ids.size() && ids[i] != kEnd; ++i) {
    if (i == 0 && ids[i] == kBegin) continue;
    if (ids[i] >= words_.size()) {
      throw base::Error(base::ExitCode::kInternal,
                        fmt::format("decode: word {} of {}", ids[i], words_.size()));
    }
    text += (text.empty() ? "" : " ") + words_[ids[i]];
  }
  return text;
}

}  // namespace gnmt
