// The loop of the thread, and its pauses.
#include "runner/progress_thread.h"

#include <sys/prctl.h>

#include <chrono>
#include <system_error>

#include "runner/base/error.h"
#include "runner/base/usable_cpus.h"
#include "runner/blocked_signals.h"
#include "runner/communicator_state.h"

namespace runner {
namespace {

/// Between looks of a thread that takes its time from a compute thread.
constexpr std::chrono::microseconds kPause(100);
/// The system may wake a thread later by as much, in ns; 50 us unless it is set.
constexpr unsigned long kSlack = 1000;

}  // namespace

ProgressThread::ProgressThread(const Communicator& world, const std::vector<int>& cpus,
                               bool has_own_cpu)
    : book_(world.book()), has_own_cpu_(has_own_cpu) {
  book_->has_thread = true;
  book_->is_given_up = false;
  try {
    const BlockedSignals blocked;
    thread_ = std::thread([this, cpus] { run(cpus); });
  } catch (const std::system_error& e) {
    book_->has_thread = false;
    throw base::thread_error("progress thread", e);
  }
}

std::unique_ptr<ProgressThread> ProgressThread::start(const Communicator& world,
                                                      const Place& place) {
  if (!place.has_progress_thread) return nullptr;
  const auto& ids = place.binding.cpu_ids;
  return std::make_unique<ProgressThread>(world, std::vector<int>(ids.begin(), ids.end()),
                                          place.threads.has_spare_cpu);
}

ProgressThread::~ProgressThread() {
  {
    const CallLock lock = book_->lock();
    stops_ = true;
    book_->has_work.notify_one();
  }
  thread_.join();
  book_->has_thread = false;
}

void ProgressThread::run(const std::vector<int>& cpus) {
  // Where it cannot be bound, it shares the rank's CPUs.
  if (!cpus.empty()) static_cast<void>(base::bind_this_thread(cpus));
  prctl(PR_SET_TIMERSLACK, kSlack);
  while (!stops_) {
    // Callers come first: the system may let this thread take the lock again and again.
    if (book_->callers > 0) {
      std::this_thread::yield();
      continue;
    }
    if (CallLock lock(book_->calls, std::try_to_lock); lock) {
      book_->has_work.wait(lock, [this] { return stops_ || has_work(); });
      if (stops_) return;
      try {
        go_on();
      } catch (...) {
        book_->failure = std::current_exception();
        return;
      }
    }
    if (has_own_cpu_) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

bool ProgressThread::has_work() const {
  return !book_->is_given_up && !(book_->under_way.empty() && book_->sums.empty());
}

void ProgressThread::go_on() {
  book_->go_on();
  std::erase_if(book_->under_way, [](Operation* operation) {
    operation->look();
    return operation->is_done.load();
  });
}

}  // namespace runner
