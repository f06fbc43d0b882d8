// Batches of slots, each filled ahead of need by a thread.
// Hides places, and that a batch's slots keep their memory for the batches that follow.
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
  /// Batches first, first + 1, ..., last - 1 of `slots` slots, as PrefetchQueue makes them.
  SlotBatches(int threads, int depth, std::int64_t slots, std::int64_t first, std::int64_t last,
              Fill fill)
      : batches_(PrefetchQueue::places(depth), std::vector<Slot>(static_cast<std::size_t>(slots))),
        queue_(threads, depth, slots, first, last,
               [this, fill = std::move(fill)](std::int64_t batch, std::int64_t slot,
                                              std::size_t place) {
                 fill(batch, slot, batches_[place][static_cast<std::size_t>(slot)]);
               }) {}
  /// The next batch in order; waits for it. Valid until the next call.
  const std::vector<Slot>& next() { return batches_[queue_.next().place]; }

 private:
  std::vector<std::vector<Slot>> batches_;  ///< by place
  PrefetchQueue queue_;                     ///< last: its threads end before the batches do
};

}  // namespace staging
