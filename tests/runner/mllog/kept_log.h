// A log as its reader gives it, kept for tests.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "runner/mllog/record_reader.h"

namespace mllog {

/// A decoded copy of a record.
struct KeptRecord {
  explicit KeptRecord(const Record& record)
      : line(record.line),
        column(record.column),
        time_ms(record.time_ms),
        key(record.key),
        event_type(record.event_type),
        has_value(!record.value.is_absent()),
        has_metadata(!record.metadata.is_absent()),
        value(record.value.decoded()),
        metadata(record.metadata.decoded()),
        epoch_num(record.metadata.member("epoch_num").number()),
        format(record.format),
        has_time(record.has_time),
        fault(record.fault) {}
  std::int64_t line, column;
  double time_ms;
  std::string key;
  std::optional<std::string> event_type;
  bool has_value, has_metadata;
  nlohmann::json value, metadata;
  std::optional<double> epoch_num;
  LogFormat format;
  bool has_time;
  std::string fault;
};

struct KeptLog {
  explicit KeptLog(const std::string& text) : in(text), reader(in) {
    while (auto item = reader.next()) {
      if (const auto* record = std::get_if<Record>(&*item)) {
        records.emplace_back(*record);
      } else {
        malformed.push_back(std::get<MalformedRecord>(*item));
      }
    }
  }
  std::istringstream in;
  RecordReader reader;
  std::vector<KeptRecord> records;
  std::vector<MalformedRecord> malformed;
};

/// Why the only malformed record of a log is one; "not malformed" if there are none or several.
inline std::string reason_of(const std::string& log) {
  const KeptLog kept(log);
  return kept.malformed.size() == 1 ? kept.malformed[0].reason : "not malformed";
}

}  // namespace mllog
