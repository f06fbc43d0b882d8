// Batches of samples and labels prepared ahead of need, with a bounded queue.
#include "staging/prefetch.h"

#include <utility>

namespace staging {
namespace {

std::vector<Batch> empty_batches(std::size_t count, std::int64_t samples,
                                 std::int64_t sample_floats) {
  std::vector<Batch> batches(count);
  for (Batch& batch : batches) {
    batch.data.resize(static_cast<std::size_t>(samples * sample_floats));
    batch.labels.resize(static_cast<std::size_t>(samples), -1);
  }
  return batches;
}

}  // namespace

Prefetcher::Prefetcher(int threads, int depth, std::int64_t samples, std::int64_t sample_floats,
                       std::int64_t first, std::int64_t last, Fill fill)
    : batches_(empty_batches(PrefetchQueue::places(depth), samples, sample_floats)),
      queue_(threads, depth, samples, first, last,
             [this, fill = std::move(fill), size = static_cast<std::size_t>(sample_floats)](
                 std::int64_t number, std::int64_t slot, std::size_t place) {
               Batch& batch = batches_[place];
               const auto at = static_cast<std::size_t>(slot);
               fill(number, slot, std::span(batch.data).subspan(at * size, size), batch.labels[at]);
             }) {}

const Batch& Prefetcher::next() {
  const auto [number, place] = queue_.next();
  batches_[place].number = number;
  return batches_[place];
}

}  // namespace staging
