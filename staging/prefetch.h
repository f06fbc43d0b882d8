// Batches of samples and labels prepared ahead of need, with a bounded queue.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "staging/prefetch_queue.h"

namespace staging {

struct Batch {
  std::int64_t number = 0;
  std::vector<float> data;           ///< [samples, sample_floats]
  std::vector<std::int32_t> labels;  ///< [samples]; -1 marks a slot that holds no sample
};

/// Runs `fill` for every slot of batches first, first+1, ..., last-1 on `threads` threads, at most
/// `depth` batches ahead of next(). next() rethrows an exception of `fill`. The destructor stops
/// the threads without finishing the remaining batches.
class Prefetcher {
 public:
  /// Fills one slot with sample_floats values and its label. Called concurrently.
  using Fill = std::function<void(std::int64_t batch, std::int64_t slot, std::span<float> out,
                                  std::int32_t& label)>;
  Prefetcher(int threads, int depth, std::int64_t samples, std::int64_t sample_floats,
             std::int64_t first, std::int64_t last, Fill fill);
  /// Waits for the next batch in order. It is valid until the next call. Throws Error(kInternal)
  /// after the last one.
  const Batch& next();

 private:
  std::vector<Batch> batches_;  ///< indexed by the queue's places
  PrefetchQueue queue_;         ///< declared last: its threads end before the batches do
};

}  // namespace staging
