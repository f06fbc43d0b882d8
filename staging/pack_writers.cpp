// Threads that write packs to a node's copy.
#include "staging/pack_writers.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/usable_cpus.h"

namespace staging {

struct PackWriters::State {
  State(PackStore store_in, const Writing& writing, std::int64_t packs, Prepare prepare_in)
      : store(std::move(store_in)), choice(writing, packs), prepare(std::move(prepare_in)) {}

  void work() {
    std::vector<std::byte> memory;
    std::unique_lock lock(mutex);
    for (;;) {
      came.wait(lock, [&] { return is_ending || !waiting.empty(); });
      if (is_ending) return;
      PackImage image = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      const std::exception_ptr error = write(image, memory);
      image.buffer.reset();  // free again before the pack counts as written
      lock.lock();
      --unwritten;
      if (error && !failure) failure = error;
      if (unwritten == 0 || failure) done.notify_all();
    }
  }

  std::exception_ptr write(const PackImage& image, std::vector<std::byte>& memory) {
    try {
      const std::span<const std::byte> pack = prepare ? prepare(image, memory) : image.bytes();
      put(image.number, pack);
      copied_bytes += image.sample_bytes;
      written_bytes += std::ssize(pack);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  void put(std::int64_t number, std::span<const std::byte> pack) {
    using std::chrono::steady_clock;
    const WriteChoice::Next next = choice.next();
    const steady_clock::time_point begin = steady_clock::now();
    const WriteWay went = store.put(number, pack, next.durability, next.way);
    const std::chrono::duration<double> seconds = steady_clock::now() - begin;
    if (went == WriteWay::kDirect) direct_bytes += std::ssize(pack);
    if (went == next.way) {
      choice.took(went, std::ssize(pack), seconds.count());
    } else if (pack.size() >= kDirectAlignment) {
      choice.refuse_direct();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      is_ending = true;
    }
    came.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  const PackStore store;
  WriteChoice choice;
  const Prepare prepare;
  std::atomic<std::int64_t> copied_bytes{0}, written_bytes{0}, direct_bytes{0};
  std::mutex mutex;
  std::condition_variable came, done;
  // Guarded by mutex.
  std::deque<PackImage> waiting;
  std::int64_t unwritten = 0;  ///< packs that wait or are being written
  std::exception_ptr failure;
  bool is_ending = false;
  std::vector<std::thread> threads;
};

PackWriters::PackWriters(int threads, const PackStore& store, const Writing& writing,
                         std::int64_t packs, Prepare prepare)
    : state_(std::make_unique<State>(store, writing, packs, std::move(prepare))) {
  try {
    for (int i = 0; i < threads; ++i) {
      state_->threads.emplace_back([state = state_.get()] {
        base::use_process_cpus();
        state->work();
      });
    }
  } catch (const std::system_error& e) {
    state_->stop();
    throw base::thread_error(fmt::format("staging, with {} writers", threads), e);
  }
}

PackWriters::~PackWriters() { state_->stop(); }

void PackWriters::put(PackImage image) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back(std::move(image));
    ++state_->unwritten;
  }
  state_->came.notify_one();
}

bool PackWriters::are_done_within(double seconds) {
  std::unique_lock lock(state_->mutex);
  const bool is_done = state_->done.wait_for(lock, std::chrono::duration<double>(seconds), [&] {
    return state_->unwritten == 0 || state_->failure;
  });
  if (state_->failure) std::rethrow_exception(state_->failure);
  return is_done;
}

bool PackWriters::are_idle() const {
  const std::lock_guard lock(state_->mutex);
  return state_->unwritten == 0;
}

std::exception_ptr PackWriters::take_failure() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->failure, nullptr);
}

std::int64_t PackWriters::copied_bytes() const { return state_->copied_bytes; }

std::int64_t PackWriters::written_bytes() const { return state_->written_bytes; }

std::int64_t PackWriters::direct_bytes() const { return state_->direct_bytes; }

}  // namespace staging
