// Batches made ahead of need by threads, whatever a batch is, with a bounded queue.
// Hides threads, locks, and who fills what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace staging {

/// Runs `fill` for every slot of batches first, first+1, ..., last-1 on `threads` threads, at most
/// `depth` batches ahead of next(). The batches themselves belong to the caller, who keeps one in
/// each of places(depth) places. An exception of `fill` reaches the caller of next(). Destruction
/// stops the threads at once.
class PrefetchQueue {
 public:
  /// Fills one slot of the batch that is kept in `place`. Called concurrently, a slot once.
  using Fill = std::function<void(std::int64_t batch, std::int64_t slot, std::size_t place)>;
  PrefetchQueue(int threads, int depth, std::int64_t slots, std::int64_t first, std::int64_t last,
                Fill fill);
  ~PrefetchQueue();
  PrefetchQueue(const PrefetchQueue&) = delete;
  PrefetchQueue& operator=(const PrefetchQueue&) = delete;

  /// Places that batches are kept in: the one that the caller holds and those ahead of it.
  static std::size_t places(int depth);

  struct Ready {
    std::int64_t batch = 0;
    std::size_t place = 0;
  };
  /// The next batch in order; waits for it. Its place is the caller's until the next call. Throws
  /// Error(kInternal) past the last.
  Ready next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace staging
