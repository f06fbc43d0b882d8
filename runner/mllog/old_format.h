// The log lines of MLPerf Training 0.5 and 0.6 as today's records.
// Hides their grammar, their names of keys, and where they put what is metadata today.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/mllog/record.h"

namespace mllog {

/// The last token of the older formats on a line.
struct OldToken {
  std::size_t at = std::string_view::npos;  ///< npos: there is none
  std::size_t end = 0;                      ///< what follows it begins here
  LogFormat format = LogFormat::kMll;
  std::int64_t before = 0;  ///< tokens before it
};
OldToken last_old_token(std::string_view line);

/// Makes records, one at a time: what is no part of the line lies in here.
class OldRecords {
 public:
  /// Puts what follows a token of `format` into `record`; returns why that cannot be, or "".
  /// `rest` begins in column `column`.
  std::string read(LogFormat format, std::string_view rest, std::int64_t column, Record& record);

  /// A record submission_benchmark at the place and time of `record`, the last one that was read:
  /// lines of 0.5 name their benchmark, and no record does.
  Record benchmark_of(const Record& record);

 private:
  std::string read_mll(std::string_view rest, std::int64_t column, Record& record);
  std::string read_mlp(std::string_view rest, std::int64_t column, Record& record);
  std::string read_value(std::string_view text, std::int64_t column);
  bool loosen(std::string_view text);
  void split_value(Record& record);
  void translate(std::string_view old_key, Record& record);
  void put_accuracy(const Record& record);
  void put_direction(const Record& record);
  void put_event(const Record& record);
  void add_member(std::string_view name, std::string_view json);

  std::vector<JsonMember> members_;  ///< of the value on the line
  JsonText whole_;                   ///< that value
  std::string value_, metadata_, loosened_, fault_;
  std::string benchmark_, benchmark_json_;
};

}  // namespace mllog
