// Click files of a few records, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/temporary_directory.h"
#include "staging/dataset/criteo.h"

namespace dataset {

/// The bytes of `values`, least significant first, independent of the host's byte order.
inline std::string little_endian(const std::vector<std::int32_t>& values) {
  std::string bytes;
  for (const std::int32_t value : values) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes += static_cast<char>((static_cast<std::uint32_t>(value) >> shift) & 0xFFU);
    }
  }
  return bytes;
}

/// Record `index` of the test files: every value identifies its record and column.
inline std::vector<std::int32_t> made_record(const ClickFormat& format, std::int64_t index) {
  std::vector<std::int32_t> record = {static_cast<std::int32_t>(index % 3 == 0 ? 1 : 0)};
  for (std::int64_t column = 1; column < format.record_values(); ++column) {
    record.push_back(static_cast<std::int32_t>(index * 100 + column));
  }
  return record;
}

inline std::vector<std::int32_t> made_records(const ClickFormat& format, std::int64_t first,
                                              std::int64_t last) {
  std::vector<std::int32_t> records;
  for (std::int64_t index = first; index < last; ++index) {
    const auto record = made_record(format, index);
    records.insert(records.end(), record.begin(), record.end());
  }
  return records;
}

/// Writes records [0, samples). Returns the path.
inline std::string write_clicks(const base::TemporaryDirectory& folder, const std::string& name,
                                const ClickFormat& format, std::int64_t samples) {
  return folder.write(name, little_endian(made_records(format, 0, samples)));
}

}  // namespace dataset
