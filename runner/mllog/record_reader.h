// Reads MLPerf log records from a stream, one at a time.
// Hides line ends, what stands before a record on its line, and the many ways a record can be
// broken.
#pragma once

#include <cstdint>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mllog {

/// One record. Namespace, event_type and metadata are as logged: nothing but time_ms and key is
/// known to be well-formed.
struct Record {
  std::int64_t line = 0;    ///< in the file, from 1
  std::int64_t column = 0;  ///< of the token on that line, in bytes from 1
  double time_ms = 0.0;     ///< finite; numeric strings were converted
  std::string key;
  std::optional<std::string> event_type;  ///< absent or no string: none
  nlohmann::json value;                   ///< null when absent
  nlohmann::json metadata;                ///< null when absent; may be no object
  bool has_value = false;
  bool has_metadata = false;

  /// A member of the metadata; nullptr when there is none.
  const nlohmann::json* metadata_member(const std::string& name) const;
};

/// A line with the token whose rest is no record.
struct MalformedRecord {
  std::int64_t line = 0;
  std::int64_t column = 0;  ///< of the token
  std::string reason;
};

using LogItem = std::variant<Record, MalformedRecord>;

/// The records of one log in file order, with memory for one line: what is longer than 64 MiB is
/// malformed, and lines without a record are not kept at all. Lines end at LF, CRLF or a lone CR.
/// The record is what follows the last ":::MLLOG " of a line.
class RecordReader {
 public:
  /// `in` outlives the reader and must be open in binary mode.
  explicit RecordReader(std::istream& in);

  /// The next record or malformed record; nothing at the end. Never throws for what the log holds;
  /// SystemError when the stream breaks.
  std::optional<LogItem> next();

  // Counts so far.
  std::int64_t lines() const { return lines_; }
  std::int64_t records() const { return records_; }
  std::int64_t malformed_records() const { return malformed_; }
  std::int64_t other_lines() const { return lines_ - records_ - malformed_; }
  /// Lines of the formats before MLLOG (":::MLL ", ":::MLPv0.5.0"), which hold no record.
  std::int64_t old_format_lines() const { return old_format_; }
  /// Records that are lost because another one follows on their line.
  std::int64_t swallowed_records() const { return swallowed_; }

 private:
  bool read_line();
  bool refill();
  void keep(std::string_view piece);
  LogItem interpret();

  std::istream& in_;
  std::vector<char> buffer_;
  std::size_t next_ = 0, filled_ = 0;
  bool after_carriage_return_ = false;

  // The line under way, shortened from the front while it shows no token.
  std::string line_;
  std::int64_t dropped_bytes_ = 0;
  bool has_token_ = false;
  bool too_long_ = false;

  std::int64_t lines_ = 0, records_ = 0, malformed_ = 0, old_format_ = 0, swallowed_ = 0;
};

}  // namespace mllog
