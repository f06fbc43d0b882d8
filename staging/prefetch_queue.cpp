// A bounded queue of batches that threads fill ahead of need.
#include "staging/prefetch_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/usable_cpus.h"

namespace staging {

/// Threads take slots one by one in order, so all of them work on the batch that is needed first.
struct PrefetchQueue::State {
  /// Progress of the batch in one place.
  struct Place {
    std::int64_t filled = 0;
    std::exception_ptr error;
    std::int64_t error_slot = 0;
  };

  State(std::size_t place_count, std::int64_t slots_in, std::int64_t first_in, std::int64_t last_in,
        Fill fill_in)
      : slots(slots_in),
        first(first_in),
        last(last_in),
        fill(std::move(fill_in)),
        wanted(first_in - 1),
        places(place_count) {}

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    room.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  std::size_t place_of(std::int64_t batch) const {
    return static_cast<std::size_t>(batch - first) % places.size();
  }

  bool may_start() const {
    const std::int64_t batch = first + next_unit / slots;
    // The batch that the caller holds occupies one place.
    return batch <= wanted + static_cast<std::int64_t>(places.size()) - 1;
  }
  bool is_exhausted() const { return slots == 0 || next_unit >= (last - first) * slots; }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      room.wait(lock, [&] { return stopping || is_exhausted() || may_start(); });
      if (stopping || is_exhausted()) return;
      const std::int64_t batch = first + next_unit / slots, slot = next_unit % slots;
      ++next_unit;
      lock.unlock();
      const std::exception_ptr error = fill_slot(batch, slot);
      lock.lock();
      Place& place = places[place_of(batch)];
      if (error && (!place.error || slot < place.error_slot)) {
        place.error = error;
        place.error_slot = slot;
      }
      if (++place.filled == slots) ready.notify_all();
    }
  }

  bool is_ready() const { return places[place_of(wanted)].filled == slots; }

  /// Gives back the place that the caller holds, and asks for the next batch.
  void ask_for_next() {
    if (wanted + 1 >= last) {
      throw base::Error(base::ExitCode::kInternal, "prefetch: no batch after the last");
    }
    if (wanted >= first) places[place_of(wanted)].filled = 0;
    ++wanted;
    is_asked = true;
    room.notify_all();
  }

  Ready take_next() {
    is_asked = false;
    const std::size_t number = place_of(wanted);
    if (places[number].error) {
      std::rethrow_exception(std::exchange(places[number].error, nullptr));
    }
    return {wanted, number};
  }

  std::exception_ptr fill_slot(std::int64_t batch, std::int64_t slot) const {
    try {
      fill(batch, slot, place_of(batch));
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  const std::int64_t slots, first, last;
  const Fill fill;
  std::mutex mutex;
  std::condition_variable room, ready;
  // Guarded by mutex. The buffer of a place belongs to the threads that fill its slots and then,
  // once all slots are filled, to the caller.
  bool stopping = false;
  std::int64_t next_unit = 0;  ///< slots handed out so far, over all batches
  std::int64_t wanted;         ///< the batch that the caller holds or waits for
  bool is_asked = false;       ///< the caller waits for it, or was sent away
  std::vector<Place> places;
  std::vector<std::thread> threads;
};

PrefetchQueue::PrefetchQueue(int threads, int depth, std::int64_t slots, std::int64_t first,
                             std::int64_t last, Fill fill)
    : state_(std::make_unique<State>(places(depth), slots, first, last, std::move(fill))) {
  try {
    for (int i = 0; i < std::max(threads, 1); ++i) {
      state_->threads.emplace_back([state = state_.get()] {
        base::use_process_cpus();
        state->work();
      });
    }
  } catch (const std::system_error& e) {
    state_->stop();
    throw base::thread_error(fmt::format("prefetch, with {} threads", threads), e);
  }
}

PrefetchQueue::~PrefetchQueue() { state_->stop(); }

std::size_t PrefetchQueue::places(int depth) {
  return static_cast<std::size_t>(std::max(depth, 1)) + 1;
}

PrefetchQueue::Ready PrefetchQueue::next() {
  std::unique_lock lock(state_->mutex);
  if (!state_->is_asked) state_->ask_for_next();
  state_->ready.wait(lock, [&] { return state_->is_ready(); });
  return state_->take_next();
}

std::optional<PrefetchQueue::Ready> PrefetchQueue::next_within(double seconds) {
  std::unique_lock lock(state_->mutex);
  if (!state_->is_asked) state_->ask_for_next();
  const bool is_ready = state_->ready.wait_for(lock, std::chrono::duration<double>(seconds),
                                               [&] { return state_->is_ready(); });
  return is_ready ? std::optional(state_->take_next()) : std::nullopt;
}

}  // namespace staging
