// One record of an MLPerf log, and a malformed one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runner/mllog/log_format.h"
#include "runner/mllog/python_json.h"

namespace mllog {

/// One record. Only time_ms and key are known to be valid; namespace, event_type and metadata are
/// as logged. All text belongs to the reader and is valid until it reads on. Records of older
/// formats are translated to current keys, units and metadata.
struct Record {
  std::int64_t line = 0;    ///< in the file, from 1
  std::int64_t column = 0;  ///< of the token on that line, in bytes from 1
  double time_ms = 0.0;     ///< finite; numeric strings were converted
  std::string_view key;
  std::optional<std::string_view> event_type;  ///< empty if absent or not a string
  JsonText value;
  JsonText metadata;  ///< may be another kind than an object
  LogFormat format = LogFormat::kMllog;
  std::string_view repeated;  ///< a member that it has twice, of which the last counts; or ""
  bool has_time = true;       ///< false: an older format's time 0, which means unknown
  std::string_view fault;     ///< why MLCommons' parser refuses the line; "" if it does not
};

/// The unit in which `time` counts from 1970, if it lies between September 2001 and 2096: "s",
/// "ms", "us" or "ns". "" for other times, which count from the start of a program or mean nothing.
constexpr std::string_view unit_since_1970(double time) {
  constexpr double kEarliestS = 1e9, kLatestS = 4e9;
  double per_second = 1.0;
  for (const std::string_view unit : {"s", "ms", "us", "ns"}) {
    if (time >= kEarliestS * per_second && time < kLatestS * per_second) return unit;
    per_second *= 1000.0;
  }
  return "";
}

/// Whether a time_ms is a calendar date in milliseconds.
constexpr bool is_date(double time_ms) { return unit_since_1970(time_ms) == "ms"; }

/// A line with a token that is not followed by a valid record.
struct MalformedRecord {
  std::int64_t line = 0;
  std::int64_t column = 0;  ///< of the token
  std::string reason;
  LogFormat format = LogFormat::kMllog;
};

using LogItem = std::variant<Record, MalformedRecord>;

}  // namespace mllog
