// One record of an MLPerf log, and a line that should hold one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runner/mllog/log_format.h"
#include "runner/mllog/python_json.h"

namespace mllog {

/// One record. Namespace, event_type and metadata are as logged: nothing but time_ms and key is
/// known to be well-formed. All of it lies in the reader, until that reads on. Records of the older
/// formats have the keys, units and metadata of today's.
struct Record {
  std::int64_t line = 0;    ///< in the file, from 1
  std::int64_t column = 0;  ///< of the token on that line, in bytes from 1
  double time_ms = 0.0;     ///< finite; numeric strings were converted
  std::string_view key;
  std::optional<std::string_view> event_type;  ///< absent or no string: none
  JsonText value;
  JsonText metadata;  ///< may be no object
  LogFormat format = LogFormat::kMllog;
  bool has_time = true;    ///< false: an older format's 0, which stands for no time
  std::string_view fault;  ///< why MLCommons' parser refuses the line; "" for none
};

/// Whether a time in ms is one of a calendar. Before September 2001 it counts from the start of a
/// program.
constexpr bool is_date(double time_ms) {
  constexpr double kEarliestMs = 1e12, kLatestMs = 1e13;
  return time_ms >= kEarliestMs && time_ms < kLatestMs;
}

/// A line with the token whose rest is no record.
struct MalformedRecord {
  std::int64_t line = 0;
  std::int64_t column = 0;  ///< of the token
  std::string reason;
  LogFormat format = LogFormat::kMllog;
};

using LogItem = std::variant<Record, MalformedRecord>;

}  // namespace mllog
