// Memory for the images of packs.
#include "staging/pack_buffers.h"

#include <sys/mman.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace staging {

struct PackBuffers::State {
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  using Memory = std::unique_ptr<std::byte[], Free>;

  State(std::size_t count, std::size_t bytes_in) : bytes(bytes_in), unused(count) {}

  const std::size_t bytes;
  std::mutex mutex;
  std::condition_variable became_free;
  // Guarded by mutex.
  std::size_t unused;  ///< that may still be allocated
  std::vector<Memory> free;

  Memory allocate() const {
    constexpr std::size_t kHugePage = std::size_t{2} << 20;
    const std::size_t whole = (bytes + kHugePage) / kHugePage * kHugePage;  // at least one
    void* const memory = std::aligned_alloc(kHugePage, whole);
    if (memory == nullptr) throw std::bad_alloc();
    ::madvise(memory, whole, MADV_HUGEPAGE);  // only advice: otherwise it is merely slower
    return Memory(static_cast<std::byte*>(memory));
  }
};

PackBuffers::PackBuffers(std::size_t count, std::size_t bytes)
    : state_(std::make_shared<State>(count, bytes)) {
  state_->free.reserve(count);  // so that giving a buffer back cannot fail
}

PackBuffer PackBuffers::take_within(double seconds) {
  std::unique_lock lock(state_->mutex);
  const bool is_there =
      state_->became_free.wait_for(lock, std::chrono::duration<double>(seconds),
                                   [&] { return !state_->free.empty() || state_->unused > 0; });
  if (!is_there) return nullptr;
  State::Memory memory;
  if (state_->free.empty()) {
    memory = state_->allocate();
    --state_->unused;
  } else {
    memory = std::move(state_->free.back());
    state_->free.pop_back();
  }
  return {memory.release(), [state = state_](std::byte* used) {
            const std::lock_guard give_back(state->mutex);
            state->free.emplace_back(used);
            state->became_free.notify_one();
          }};
}

}  // namespace staging
