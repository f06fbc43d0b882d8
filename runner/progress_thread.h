// A thread that goes on with exchanges while this rank computes.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "runner/communicator.h"
#include "runner/placement.h"

namespace runner {

/// While it lives, a thread takes the steps of what nonblocking calls of `world` and of all
/// communicators derived from it have begun, while the rank computes. It rests while the rank is in
/// a call that waits, and the rank's calls go before its next look. An error of the thread is
/// thrown by the rank's next test or wait. Once an exception has given up an operation, and so
/// memory in which messages arrive may be freed, it rests for good.
/// Source: a thread with a core of its own drives messages: Sridharan et al., arXiv:1801.08030.
class [[nodiscard]] ProgressThread {
 public:
  /// The thread runs on `cpus` (empty: wherever this thread may run). has_own_cpu: one of them has
  /// no compute thread, so that it looks after messages without a pause. Throws SystemError.
  ProgressThread(const Communicator& world, const std::vector<int>& cpus, bool has_own_cpu);
  /// As `place` has it: maybe none.
  static std::unique_ptr<ProgressThread> start(const Communicator& world, const Place& place);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

 private:
  void run(const std::vector<int>& cpus);
  bool has_work() const;
  void go_on();

  const std::shared_ptr<Accounting::Book> book_;
  const bool has_own_cpu_;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace runner
