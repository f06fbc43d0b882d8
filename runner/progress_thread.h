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
/// communicators derived from it have begun, whether or not the rank tests it. The rank's own calls
/// go on as ever, and wait until the thread is not in MPI, a fraction of a millisecond. An error of
/// the thread is thrown by the rank's next test or wait.
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
  void go_on();

  const std::shared_ptr<Accounting::Book> book_;
  const bool has_own_cpu_;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace runner
