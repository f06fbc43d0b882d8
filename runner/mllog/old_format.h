// Translates log lines of MLPerf Training 0.5 and 0.6 to records of the current format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/mllog/record.h"

namespace mllog {

/// The last token of an older format on a line.
struct OldToken {
  std::size_t at = std::string_view::npos;  ///< npos: no such token
  std::size_t end = 0;                      ///< index after the token
  LogFormat format = LogFormat::kMll;
  std::int64_t before = 0;  ///< number of tokens before it
};
OldToken last_old_token(std::string_view line);

/// Creates records, one at a time. Owns the text that is not part of the line.
class OldRecords {
 public:
  /// Parses `rest`, the text after a token of `format`, which begins in column `column`, into
  /// `record`. Returns "" or the reason why it failed.
  std::string read(LogFormat format, std::string_view rest, std::int64_t column, Record& record);

  /// A submission_benchmark record at the place and time of `record`, the last one read. Lines of
  /// 0.5 name their benchmark but have no such record.
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
  JsonText whole_;                   ///< the value on the line
  std::string value_, metadata_, loosened_, fault_;
  std::string benchmark_, benchmark_json_;
};

}  // namespace mllog
