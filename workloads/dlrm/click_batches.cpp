// Batches of click records.
#include "workloads/dlrm/click_batches.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/base/split_evenly.h"

namespace dlrm {

ClickOrder::ClickOrder(std::int64_t samples, std::int64_t global_batch, Shuffle shuffle,
                       std::uint64_t seed)
    : samples_(samples),
      global_batch_(global_batch),
      blocks_(samples > 0 && global_batch > 0 ? 1 + (samples - 1) / global_batch : 0),
      shuffle_(shuffle),
      seed_(seed) {
  if (samples < 1 || global_batch < 1) {
    throw base::ConfigError(fmt::format(
        "click order: expected at least one sample and a global batch of at least 1, found {} "
        "samples, global_batch {}",
        samples, global_batch));
  }
}

RecordRange ClickOrder::block(std::int64_t step) const {
  std::int64_t block = step % blocks_;
  if (shuffle_ == Shuffle::kBatches) {
    const base::Permutation order(static_cast<std::uint64_t>(blocks_), seed_,
                                  static_cast<std::uint64_t>(step / blocks_));
    block = static_cast<std::int64_t>(order(static_cast<std::uint64_t>(block)));
  }
  const std::int64_t first = block * global_batch_;
  return {first, std::min(global_batch_, samples_ - first)};
}

RecordRange ClickOrder::part(std::int64_t step, const nn::PassSlice& slice) const {
  const RecordRange whole = block(step);
  const std::int64_t begin = std::min(slice.first, whole.count);
  const std::int64_t end = std::min(slice.first + slice.count, whole.count);
  return {whole.first + begin, end - begin};
}

ClickBatches::ClickBatches(Source source, std::int64_t places, std::int64_t first,
                           std::int64_t last, RangeOf range_of)
    : source_(std::move(source)),
      places_(places),
      range_of_(std::move(range_of)),
      batches_(staging::PrefetchQueue::places(source_.prefetch_batches)),
      records_(batches_.size()),
      left_(last - first),
      queue_(1, source_.prefetch_batches, 1, first, last,
             [this](std::int64_t batch, std::int64_t, std::size_t place) { fill(batch, place); }) {}

void ClickBatches::fill(std::int64_t batch, std::size_t place) {
  const dataset::ClickFile& file = *source_.file;
  const RecordRange range = range_of_(batch);
  std::vector<std::int32_t>& records = records_[place];
  records.resize(static_cast<std::size_t>(range.count * file.format().record_values()));
  const std::int64_t bytes = file.read(range.first, range.count, records, last_piece_);
  if (source_.read != nullptr) source_.read->count_from_source(bytes, range.count);
  dataset::decode_clicks(file.path(), file.format(), range.first, records, source_.ids, places_,
                         batches_[place]);
}

const dataset::ClickBatch& ClickBatches::next() {
  if (std::exchange(has_ahead_, false)) {
    std::swap(current_, ahead_);
  } else {
    std::swap(current_, batches_[queue_.next().place]);
    --left_;
  }
  return current_;
}

const dataset::ClickBatch* ClickBatches::ahead() {
  if (!has_ahead_ && left_ > 0) {
    const std::optional<staging::PrefetchQueue::Ready> ready = queue_.next_within(0.0);
    if (!ready) return nullptr;
    std::swap(ahead_, batches_[ready->place]);
    --left_;
    has_ahead_ = true;
  }
  return has_ahead_ ? &ahead_ : nullptr;
}

std::unique_ptr<ClickBatches> training_batches(const ClickBatches::Source& source,
                                               const ClickOrder& order, const nn::PassSlice& slice,
                                               std::int64_t first_step, std::int64_t last_step) {
  return std::make_unique<ClickBatches>(
      source, slice.count, first_step, last_step,
      [order, slice](std::int64_t step) { return order.part(step, slice); });
}

RecordRange evaluation_part(std::int64_t samples, int ranks, int rank) {
  const auto [first, last] = base::split_evenly(samples, ranks, rank);
  return {first, last - first};
}

std::int64_t evaluation_steps(std::int64_t samples, int ranks, std::int64_t batch) {
  return base::ceil_div(evaluation_part(samples, ranks, 0).count, batch);
}

std::unique_ptr<ClickBatches> evaluation_batches(const ClickBatches::Source& source,
                                                 const RecordRange& part, std::int64_t batch,
                                                 std::int64_t steps) {
  return std::make_unique<ClickBatches>(
      source, batch, 0, steps, [part, batch](std::int64_t number) -> RecordRange {
        const std::int64_t done = std::min(number * batch, part.count);
        return {part.first + done, std::min(batch, part.count - done)};
      });
}

}  // namespace dlrm
