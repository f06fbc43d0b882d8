// Reads MLPerf log records from a stream, one at a time.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/mllog/old_format.h"
#include "runner/mllog/python_json.h"
#include "runner/mllog/record.h"

namespace mllog {

/// The records of one log in file order, buffering only a few lines. Lines end at LF, CRLF or a
/// lone CR; lines without a record are not stored. A record is the text after the last ":::MLLOG "
/// of a line. All of it is validated, little is decoded; a record of more than 64 MiB is malformed.
/// Before the first such record, and in a log without any, lines of the older formats are records
/// too. The first record of a 0.5 log is preceded by a submission_benchmark record with the same
/// line number.
class RecordReader {
 public:
  /// `in` outlives the reader and must be open in binary mode.
  explicit RecordReader(std::istream& in);

  /// The next record or malformed record; nothing at the end. Malformed content never throws; a
  /// read error of the stream throws SystemError.
  std::optional<LogItem> next();

  // Counts so far.
  std::int64_t bytes() const { return bytes_; }
  std::int64_t lines() const { return lines_; }
  std::int64_t records() const { return records_; }
  std::int64_t malformed_records() const { return malformed_; }
  std::int64_t other_lines() const { return lines_ - records_ - malformed_; }
  /// The part of records() and malformed_records() in formats older than MLLOG.
  std::int64_t old_records() const { return old_records_; }
  /// Records that are lost because another one follows on the same line.
  std::int64_t swallowed_records() const { return swallowed_; }
  /// The file's first bytes, at most 64, by which a file is known that is no log.
  std::string_view begin() const { return begin_; }

 private:
  void skip_other_lines();
  bool read_line();
  std::size_t line_end();
  bool read_more();
  void shorten_line();
  std::optional<LogItem> interpret(std::size_t token);
  std::optional<LogItem> interpret(const OldToken& token);
  std::string fill(std::string_view payload, Record& record);
  static std::string_view text_of(const JsonText& string, std::string& decoded);

  std::istream& in_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_, filled_ = 0;
  std::size_t line_begin_ = 0, next_ = 0;  ///< start of the current line, and of the text after it
  std::size_t searched_ = 0;               ///< no line ends between line_begin_ and here
  /// Positions at or after searched_, or the end of the buffer.
  std::size_t next_line_feed_ = 0, next_carriage_return_ = 0;
  bool after_carriage_return_ = false;

  std::string_view line_;
  std::int64_t dropped_bytes_ = 0;               ///< bytes dropped from the front of the current
                                                 ///< line
  std::optional<std::int64_t> too_long_column_;  ///< column of its token, if the record is too long

  std::string begin_;
  OldRecords old_;
  std::optional<Record> pending_;  ///< returned by the following next()
  bool has_new_records_ = false, has_benchmark_ = false;

  std::vector<JsonMember> members_;  ///< of the members that are objects
  std::string key_, event_type_;     ///< used if they must be decoded

  std::int64_t bytes_ = 0, lines_ = 0, records_ = 0, malformed_ = 0, old_records_ = 0,
               swallowed_ = 0;
};

}  // namespace mllog
