// The words that a translation model knows, and their numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gnmt {

/// The number of a word. Two bytes, since millions of sentences are held in memory.
using WordId = std::uint16_t;

/// Words that stand in no file; those of the file follow them.
inline constexpr WordId kPad = 0;      ///< `<pad>`, behind the end of a sentence
inline constexpr WordId kUnknown = 1;  ///< `<unk>`
inline constexpr WordId kBegin = 2;    ///< `<s>`
inline constexpr WordId kEnd = 3;      ///< `<\s>`
inline constexpr std::int64_t kSpecialWords = 4;

/// One vocabulary for both languages.
class Vocabulary {
 public:
  /// Most words, so that a WordId has them all.
  static constexpr std::int64_t kMostWords = 1 << 16;

  /// Reads a file with a word a line. Words that nothing has, `madeupword0000` and so on, fill the
  /// size up to a multiple of `multiple`, which is above 0. Throws DataError with path and line
  /// where a line is not one word or has one that is there already, and for too many words or none.
  explicit Vocabulary(const std::string& path, std::int64_t multiple = 8);

  std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }

  /// The number of a word, kUnknown if it has none.
  WordId id_of(std::string_view word) const;

  /// `<s>`, the words of the line, which white space separates, and `<\s>`.
  std::vector<WordId> encode(std::string_view line) const;

  /// The words between `<s>` and `<\s>`, either of which may be absent, with blanks between them.
  /// Throws Error(kInternal) for a number that no word has.
  std::string decode(std::span<const WordId> ids) const;

 private:
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    std::size_t operator()(std::string_view word) const {
      return std::hash<std::string_view>()(word);
    }
  };
  void add(const std::string& word);

  std::vector<std::string> words_;
  std::unordered_map<std::string, WordId, Hash, std::equal_to<>> ids_;
};

}  // namespace gnmt
