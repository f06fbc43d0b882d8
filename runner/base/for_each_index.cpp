// A parallel loop over indices: threads take the next index from a shared counter.
#include "runner/base/for_each_index.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "runner/base/system_facts.h"
#include "runner/base/usable_cpus.h"

namespace base {
namespace {

/// State shared by the threads.
class Queue {
 public:
  Queue(std::size_t count, const std::function<void(std::size_t)>& work)
      : count_(count), work_(work) {}

  void drain() {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        work_(i);
      } catch (...) {
        fail(i);
      }
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void fail(std::size_t index) {
    const std::lock_guard lock(mutex_);
    next_ = count_;  // no thread starts another index
    if (!error_ || index < failed_) {
      error_ = std::current_exception();
      failed_ = index;
    }
  }

  std::size_t count_;
  const std::function<void(std::size_t)>& work_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
  std::size_t failed_ = 0;
};

}  // namespace

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  const int wanted = threads > 0 ? threads : usable_cpus();
  const std::size_t helpers =
      std::min(count, static_cast<std::size_t>(std::max(wanted, 1))) - (count > 0 ? 1 : 0);
  Queue queue(count, work);
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 0; i < helpers; ++i) {
      others.emplace_back([&queue] {
        use_process_cpus();
        queue.drain();
      });
    }
    queue.drain();
  }
  queue.rethrow();
}

}  // namespace base
