// Arbitrary bytes as an MLPerf log: records and malformed records, never an exception or a crash.
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "runner/mllog/record_reader.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  mllog::RecordReader reader(in);
  std::int64_t line = 0;
  while (const auto item = reader.next()) {
    const auto* record = std::get_if<mllog::Record>(&*item);
    if (record != nullptr) fuzz::require(std::isfinite(record->time_ms) && record->line > line);
    line = record != nullptr ? record->line : std::get<mllog::MalformedRecord>(*item).line;
  }
  fuzz::require(reader.lines() >= line);
  fuzz::require(reader.lines() ==
                reader.records() + reader.malformed_records() + reader.other_lines());
  return 0;
}
