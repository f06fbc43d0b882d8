// Batches of samples and labels prepared ahead of need, with a bounded queue.
// Hides the buffers.
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
/// `depth` batches ahead of next(). An exception of `fill` reaches the caller of next().
/// Destruction stops the threads at once.
class Prefetcher {
 public:
  /// Fills one slot: sample_floats values and its label. Called concurrently.
  using Fill = std::function<void(std::int64_t batch, std::int64_t slot, std::span<float> out,
                                  std::int32_t& label)>;
  Prefetcher(int threads, int depth, std::int64_t samples, std::int64_t sample_floats,
             std::int64_t first, std::int64_t last, Fill fill);
  /// The next batch in order; waits for it. Valid until the next call. Throws Error(kInternal) past
  /// the last.
  const Batch& next();

 private:
  std::vector<Batch> batches_;  ///< by place
  PrefetchQueue queue_;         ///< last: its threads end before the batches do
};

}  // namespace staging
