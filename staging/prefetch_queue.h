// A bounded queue of batches that threads fill ahead of need; the batch type is up to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace staging {

/// Runs `fill` for every slot of batches first, first+1, ..., last-1 on `threads` threads, at most
/// `depth` batches ahead of next(). The caller owns places(depth) buffers ("places"), each of which
/// holds one batch at a time. next() and next_within() rethrow an exception of `fill`. The
/// destructor stops the threads without finishing the remaining batches.
class PrefetchQueue {
 public:
  /// Fills one slot of the batch in `place`. Called concurrently, once for each slot.
  using Fill = std::function<void(std::int64_t batch, std::int64_t slot, std::size_t place)>;
  PrefetchQueue(int threads, int depth, std::int64_t slots, std::int64_t first, std::int64_t last,
                Fill fill);
  ~PrefetchQueue();
  PrefetchQueue(const PrefetchQueue&) = delete;
  PrefetchQueue& operator=(const PrefetchQueue&) = delete;

  /// Number of places: one for the batch that the caller holds, the others for those ahead of it.
  static std::size_t places(int depth);

  struct Ready {
    std::int64_t batch = 0;
    std::size_t place = 0;
    bool operator==(const Ready&) const = default;
  };
  /// Waits for the next batch in order. Its place is the caller's until the next call. Throws
  /// Error(kInternal) after the last one.
  Ready next();
  /// The same, but waits no longer than `seconds` and returns nullopt after that.
  std::optional<Ready> next_within(double seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace staging
