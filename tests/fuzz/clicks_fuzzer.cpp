// Arbitrary bytes as a file of click records: a DataError, or batches with labels, counts and ids
// in range. The first byte selects the range of ids.
#include <cmath>
#include <cstdint>
#include <vector>

#include "runner/base/error.h"
#include "staging/dataset/criteo.h"
#include "tests/fuzz/memory_file.h"

namespace {

constexpr dataset::ClickFormat kFormat{2, 2};
constexpr std::int64_t kSlots = 3;  ///< of a batch

void check(const dataset::ClickBatch& batch, const dataset::ClickIds& ids, std::int64_t records) {
  fuzz::require(batch.samples == kSlots && std::ssize(batch.labels) == kSlots);
  fuzz::require(std::ssize(batch.dense) == kSlots * kFormat.dense);
  fuzz::require(std::ssize(batch.ids) == kSlots * kFormat.tables);
  for (std::int64_t slot = 0; slot < kSlots; ++slot) {
    const float label = batch.labels[static_cast<std::size_t>(slot)];
    fuzz::require(slot < records ? label == 0.0F || label == 1.0F : label == -1.0F);
  }
  for (const float count : batch.dense) fuzz::require(std::isfinite(count) && count >= 0.0F);
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    const std::int64_t rows = ids.rows[i / std::size_t{kSlots}];
    fuzz::require(batch.ids[i] >= 0 && batch.ids[i] < rows);
  }
}

void read(const std::string& path, const dataset::ClickIds& ids) {
  const dataset::ClickFile file(path, kFormat);
  fuzz::require(file.samples() > 0);
  std::vector<std::int32_t> all(static_cast<std::size_t>(file.samples() * kFormat.record_values()));
  fuzz::require(file.read(0, file.samples(), all) == file.samples() * kFormat.record_bytes());
  dataset::ClickBatch batch;
  for (std::int64_t first = 0; first < file.samples(); first += kSlots) {
    const std::int64_t records = std::min(kSlots, file.samples() - first);
    const auto of_batch = std::span<const std::int32_t>(all).subspan(
        static_cast<std::size_t>(first * kFormat.record_values()),
        static_cast<std::size_t>(records * kFormat.record_values()));
    dataset::decode_clicks(path, kFormat, first, of_batch, ids, kSlots, batch);
    check(batch, ids, records);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::int64_t kRanges[] = {0, 1, 7, dataset::kCriteoIndRange};
  const dataset::ClickIds ids{{10, dataset::kCriteoIndRange}, kRanges[data[0] % 4]};
  const fuzz::MemoryFile file(data + 1, size - 1);
  try {
    read(file.path(), ids);
  } catch (const base::DataError&) {
  }
  return 0;
}
