// Decoding of click records into the input of a network.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runner/base/error.h"
#include "staging/dataset/criteo.h"

namespace dataset {
namespace {

/// Records decoded together, so that the ids written to each table's row are close in memory.
constexpr std::int64_t kRecordsTogether = 64;

/// The position of decoding, for messages.
struct Place {
  const std::string& path;
  const ClickFormat& format;
  std::int64_t record = 0;
};

[[noreturn]] void refuse(const Place& place, std::int64_t column, std::int32_t value,
                         const std::string& expected) {
  const std::int64_t first_id = 1 + place.format.dense;
  const std::string what = column == 0         ? "label"
                           : column < first_id ? fmt::format("count {}", column - 1)
                                               : fmt::format("id of table {}", column - first_id);
  throw base::DataError(fmt::format("{}: record {}: column {} ({}): expected {}, found {}",
                                    place.path, place.record, column, what, expected, value));
}

float decode_label(const Place& place, std::int32_t label) {
  if (label != 0 && label != 1) refuse(place, 0, label, "0 or 1");
  return static_cast<float>(label);
}

void decode_dense(const Place& place, const std::int32_t* counts, float* out) {
  for (std::int64_t i = 0; i < place.format.dense; ++i) {
    if (counts[i] < 0) refuse(place, 1 + i, counts[i], "a count of 0 or more");
    out[i] = std::log(static_cast<float>(counts[i]) + 1.0F);
  }
}

std::int32_t decode_id(const Place& place, std::int64_t table, std::int32_t id,
                       const ClickIds& ids) {
  const std::int64_t rows = ids.rows[static_cast<std::size_t>(table)];
  std::int64_t decoded = id;
  if (ids.max_ind_range > 0 && decoded >= ids.max_ind_range) decoded %= ids.max_ind_range;
  if (decoded < 0 || decoded >= rows) {
    refuse(place, 1 + place.format.dense + table, id,
           ids.max_ind_range > 0 ? fmt::format("0 to {} (modulo {})", rows - 1, ids.max_ind_range)
                                 : fmt::format("0 to {}", rows - 1));
  }
  return static_cast<std::int32_t>(decoded);
}

/// Resizes `batch` to `samples` slots and makes those from `filled` on empty.
void shape(const ClickFormat& format, std::int64_t samples, std::int64_t filled,
           ClickBatch& batch) {
  const auto places = static_cast<std::size_t>(samples);
  const auto dense = static_cast<std::size_t>(format.dense);
  const auto used = static_cast<std::ptrdiff_t>(filled);
  batch.samples = samples;
  batch.dense.resize(places * dense);
  batch.labels.resize(places);
  batch.ids.resize(places * static_cast<std::size_t>(format.tables));
  std::fill(batch.dense.begin() + used * format.dense, batch.dense.end(), 0.0F);
  std::fill(batch.labels.begin() + used, batch.labels.end(), -1.0F);
  for (std::int64_t table = 0; table < format.tables; ++table) {
    const auto row = batch.ids.begin() + table * samples;
    std::fill(row + used, row + samples, 0);
  }
}

}  // namespace

void check_click_ids(const ClickFormat& format, const ClickIds& ids) {
  if (static_cast<std::int64_t>(ids.rows.size()) != format.tables) {
    throw base::ConfigError(fmt::format("click records: expected the rows of {} tables, got {}",
                                        format.tables, ids.rows.size()));
  }
  for (const std::int64_t rows : ids.rows) {
    if (rows < 1) {
      throw base::ConfigError(
          fmt::format("click records: a table must have at least one row, got {}", rows));
    }
  }
  if (ids.max_ind_range < 0) {
    throw base::ConfigError(fmt::format(
        "click records: max_ind_range must be 0 (none) or more, got {}", ids.max_ind_range));
  }
}

void decode_clicks(const std::string& path, const ClickFormat& format, std::int64_t first,
                   std::span<const std::int32_t> records, const ClickIds& ids, std::int64_t samples,
                   ClickBatch& batch) {
  const std::int64_t width = format.record_values();
  const std::int64_t count = static_cast<std::int64_t>(records.size()) / width;
  if (count > samples || static_cast<std::int64_t>(records.size()) != count * width) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("{}: {} values do not fit {} places of {} values", path,
                                  records.size(), samples, width));
  }
  shape(format, samples, count, batch);
  for (std::int64_t begin = 0; begin < count; begin += kRecordsTogether) {
    const std::int64_t end = std::min(begin + kRecordsTogether, count);
    for (std::int64_t i = begin; i < end; ++i) {
      const Place place{path, format, first + i};
      const std::int32_t* record = records.data() + i * width;
      batch.labels[static_cast<std::size_t>(i)] = decode_label(place, record[0]);
      decode_dense(place, record + 1, batch.dense.data() + i * format.dense);
    }
    for (std::int64_t table = 0; table < format.tables; ++table) {
      std::int32_t* row = batch.ids.data() + table * samples;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int32_t id =
            records[static_cast<std::size_t>(i * width + 1 + format.dense + table)];
        row[i] = decode_id({path, format, first + i}, table, id, ids);
      }
    }
  }
}

}  // namespace dataset
