// Sentences and their translations, as numbers in memory.
#include "workloads/gnmt/sentence_pairs.h"

#include <fmt/core.h>

#include <algorithm>

#include "runner/base/error.h"
#include "workloads/gnmt/text_lines.h"

namespace gnmt {
namespace {

/// A file's sentences one after the other.
class SentenceReader {
 public:
  SentenceReader(const std::string& path, const Vocabulary& vocabulary)
      : lines_(path), vocabulary_(vocabulary) {}

  /// Whether there was another sentence.
  bool next() {
    if (!lines_.next(line_)) return false;
    sentence_ = vocabulary_.encode(line_);
    if (length() == 2) {
      throw base::DataError(fmt::format("{}: expected a sentence, found no word", lines_.place()));
    }
    return true;
  }
  const std::vector<WordId>& sentence() const { return sentence_; }
  std::int64_t length() const { return static_cast<std::int64_t>(sentence_.size()); }
  std::int64_t unknown() const { return std::count(sentence_.begin(), sentence_.end(), kUnknown); }
  const TextLines& lines() const { return lines_; }

 private:
  TextLines lines_;
  const Vocabulary& vocabulary_;
  std::string line_;
  std::vector<WordId> sentence_;
};

}  // namespace

std::span<const WordId> Sentences::operator[](std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  return std::span(ids_).subspan(ends_[at], ends_[at + 1] - ends_[at]);
}

void Sentences::append(std::span<const WordId> sentence) {
  ids_.insert(ids_.end(), sentence.begin(), sentence.end());
  ends_.push_back(ids_.size());
}

SentencePairs read_pairs(const std::string& source_path, const std::string& target_path,
                         const Vocabulary& vocabulary, std::int64_t max_length) {
  SentenceReader source(source_path, vocabulary), target(target_path, vocabulary);
  SentencePairs pairs;
  while (true) {
    const bool has_source = source.next(), has_target = target.next();
    if (has_source != has_target) {
      const SentenceReader& longer = has_source ? source : target;
      throw base::DataError(fmt::format("{}: expected the end of the file, as {} has no such line",
                                        longer.lines().place(),
                                        has_source ? target_path : source_path));
    }
    if (!has_source) break;
    if (std::max(source.length(), target.length()) > max_length) {
      ++pairs.dropped;
      continue;
    }
    pairs.source.append(source.sentence());
    pairs.target.append(target.sentence());
    pairs.unknown += source.unknown() + target.unknown();
  }
  if (pairs.source.size() == 0) {
    throw base::DataError(
        fmt::format("{}: expected sentences of at most {} words in both languages, found {} pairs "
                    "with longer ones",
                    source_path, max_length - 2, pairs.dropped));
  }
  return pairs;
}

Sentences read_sentences(const std::string& path, const Vocabulary& vocabulary,
                         std::int64_t max_length) {
  SentenceReader reader(path, vocabulary);
  Sentences sentences;
  while (reader.next()) {
    if (reader.length() > max_length) {
      throw base::DataError(fmt::format("{}: expected at most {} words, found {}",
                                        reader.lines().place(), max_length - 2,
                                        reader.length() - 2));
    }
    sentences.append(reader.sentence());
  }
  if (sentences.size() == 0) {
    throw base::DataError(fmt::format("{}: expected a sentence a line, found an empty file", path));
  }
  return sentences;
}

}  // namespace gnmt
