// Reads text files with one sentence a line.
#pragma once

#include <cstdint>
#include <string>

#include "runner/base/input_file.h"

namespace gnmt {

/// The lines of a UTF-8 file, which end with a line feed; the last one may lack it.
class TextLines {
 public:
  /// Bytes of the longest line.
  static constexpr std::int64_t kMostBytes = 1 << 20;

  /// Throws DataError if there is no such file, SystemError if it cannot be opened.
  explicit TextLines(const std::string& path);

  /// Whether there was another line, which is then in `line`, without its end. Throws DataError
  /// with path and line number for text that is not UTF-8 and for a line that is too long,
  /// SystemError if the file cannot be read.
  bool next(std::string& line);

  /// Of the line that next() gave last; the first one is 1.
  std::int64_t number() const { return number_; }
  /// "train.de:12", for messages.
  std::string place() const;

 private:
  std::string path_;
  base::InputFile file_;
  std::string buffer_;
  std::int64_t number_ = 0;
};

}  // namespace gnmt
