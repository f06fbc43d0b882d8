// Batches of slots that threads fill ahead of need. The slots' memory is reused by later batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "staging/prefetch_queue.h"

namespace staging {

template <class Slot>
class SlotBatches {
 public:
  /// Fills one slot. Called concurrently.
  using Fill = std::function<void(std::int64_t batch, std::int64_t slot, Slot& into)>;
  /// Batches first, first + 1, ..., last - 1 of `slots` slots, filled as by PrefetchQueue.
  SlotBatches(int threads, int depth, std::int64_t slots, std::int64_t first, std::int64_t last,
              Fill fill)
      : batches_(PrefetchQueue::places(depth), std::vector<Slot>(static_cast<std::size_t>(slots))),
        queue_(threads, depth, slots, first, last,
               [this, fill = std::move(fill)](std::int64_t batch, std::int64_t slot,
                                              std::size_t place) {
                 fill(batch, slot, batches_[place][static_cast<std::size_t>(slot)]);
               }) {}
  /// Waits for the next batch in order. It is valid until the next call.
  const std::vector<Slot>& next() { return batches_[queue_.next().place]; }

 private:
  std::vector<std::vector<Slot>> batches_;  ///< indexed by the queue's places
  PrefetchQueue queue_;  ///< declared last: its threads end before the batches do
};

}  // namespace staging
