// Sentences and their translations, as numbers in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/gnmt/vocabulary.h"

namespace gnmt {

/// Any number of sentences in one array.
class Sentences {
 public:
  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()) - 1; }
  /// With `<s>` and `<\s>`. Valid until the next append().
  std::span<const WordId> operator[](std::int64_t index) const;
  /// Words of a sentence, `<s>` and `<\s>` included.
  std::int64_t length(std::int64_t index) const {
    return static_cast<std::int64_t>((*this)[index].size());
  }
  std::int64_t words() const { return static_cast<std::int64_t>(ids_.size()); }
  void append(std::span<const WordId> sentence);

 private:
  std::vector<WordId> ids_;
  std::vector<std::size_t> ends_ = {
      0};  ///< where each sentence ends, behind the start of the first
};

struct SentencePairs {
  Sentences source, target;  ///< equally many
  std::int64_t dropped = 0;  ///< pairs with a sentence that is too long
  std::int64_t unknown = 0;  ///< words of the pairs that the vocabulary lacks
};

/// Reads two files with a tokenised sentence a line, and keeps the pairs of which neither sentence
/// has more than `max_length` words, `<s>` and `<\s>` included. Throws DataError with path and line
/// for empty lines, if a file has more lines than the other one, and if no pair is kept.
SentencePairs read_pairs(const std::string& source_path, const std::string& target_path,
                         const Vocabulary& vocabulary, std::int64_t max_length);

/// Reads all sentences of a file. Throws DataError with path and line for empty lines, for a longer
/// sentence, and if there is none.
Sentences read_sentences(const std::string& path, const Vocabulary& vocabulary,
                         std::int64_t max_length);

}  // namespace gnmt
