// Batches prepared ahead of need by decoder threads, with a bounded queue.
// Hides threads, locks and buffers.
#include "staging/prefetch.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runner/base/error.h"

namespace staging {
namespace {

/// A batch under way and how far it is.
struct Place {
  Batch batch;
  std::int64_t filled = 0;
  std::exception_ptr error;
  std::int64_t error_slot = 0;
};

}  // namespace

/// Slots are handed out one by one in order, so all threads work on the batch that is needed first.
struct Prefetcher::State {
  State(int depth, std::int64_t samples_in, std::int64_t floats, std::int64_t first_in,
        std::int64_t last_in, Fill fill_in)
      : samples(samples_in),
        sample_floats(floats),
        first(first_in),
        last(last_in),
        fill(std::move(fill_in)),
        wanted(first_in - 1),
        places(static_cast<std::size_t>(depth) + 1) {
    for (Place& place : places) {
      place.batch.data.resize(static_cast<std::size_t>(samples * sample_floats));
      place.batch.labels.resize(static_cast<std::size_t>(samples), -1);
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    room.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  Place& place_of(std::int64_t batch) {
    return places[static_cast<std::size_t>(batch - first) % places.size()];
  }

  bool may_start() const {
    const std::int64_t batch = first + next_unit / samples;
    // The batch that the caller holds occupies one place.
    return batch <= wanted + static_cast<std::int64_t>(places.size()) - 1;
  }
  bool is_exhausted() const { return samples == 0 || next_unit >= (last - first) * samples; }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      room.wait(lock, [&] { return stopping || is_exhausted() || may_start(); });
      if (stopping || is_exhausted()) return;
      const std::int64_t batch = first + next_unit / samples, slot = next_unit % samples;
      ++next_unit;
      Place& place = place_of(batch);
      lock.unlock();
      const std::exception_ptr error = fill_slot(place, batch, slot);
      lock.lock();
      if (error && (!place.error || slot < place.error_slot)) {
        place.error = error;
        place.error_slot = slot;
      }
      if (++place.filled == samples) ready.notify_all();
    }
  }

  std::exception_ptr fill_slot(Place& place, std::int64_t batch, std::int64_t slot) {
    try {
      const auto size = static_cast<std::size_t>(sample_floats);
      const std::span all(place.batch.data);
      fill(batch, slot, all.subspan(static_cast<std::size_t>(slot) * size, size),
           place.batch.labels[static_cast<std::size_t>(slot)]);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  const std::int64_t samples, sample_floats, first, last;
  const Fill fill;
  std::mutex mutex;
  std::condition_variable room, ready;
  // Guarded by mutex; the contents of a batch belong to the thread that fills the slot, then, once
  // all slots are filled, to the caller.
  bool stopping = false;
  std::int64_t next_unit = 0;  ///< batches times slots handed out so far
  std::int64_t wanted;         ///< the batch that the caller holds or waits for
  std::vector<Place> places;
  std::vector<std::thread> threads;
};

Prefetcher::Prefetcher(int threads, int depth, std::int64_t samples, std::int64_t sample_floats,
                       std::int64_t first, std::int64_t last, Fill fill)
    : state_(std::make_unique<State>(std::max(depth, 1), samples, sample_floats, first, last,
                                     std::move(fill))) {
  try {
    for (int i = 0; i < std::max(threads, 1); ++i) {
      state_->threads.emplace_back([state = state_.get()] { state->work(); });
    }
  } catch (const std::system_error& e) {
    state_->stop();
    throw base::SystemError(
        fmt::format("prefetch: cannot start {} threads: {}", threads, e.what()));
  }
}

Prefetcher::~Prefetcher() { state_->stop(); }

const Batch& Prefetcher::next() {
  std::unique_lock lock(state_->mutex);
  if (state_->wanted + 1 >= state_->last) {
    throw base::Error(base::ExitCode::kInternal, "prefetch: no batch after the last");
  }
  if (state_->wanted >= state_->first) state_->place_of(state_->wanted).filled = 0;
  ++state_->wanted;
  state_->room.notify_all();
  Place& place = state_->place_of(state_->wanted);
  state_->ready.wait(lock, [&] { return place.filled == state_->samples; });
  if (place.error) std::rethrow_exception(std::exchange(place.error, nullptr));
  place.batch.number = state_->wanted;
  return place.batch;
}

}  // namespace staging
