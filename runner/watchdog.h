// Ends a job that makes no progress or has lost a rank, naming the rank and the operation that it
// waits for. Also reports why a job ends when the training thread no longer can.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runner/communicator.h"
#include "runner/run_config.h"
#include "runner/stop_signals.h"

namespace runner {

struct WatchOptions {
  double hang_s = 0.0;  ///< limit without progress; 0: hangs are not detected
  double lost_s = 0.0;  ///< limit without a sign of life of a rank; 0: none
  /// The signal that told this rank to end, if any. After all but kSaveAndEnd its launcher may kill
  /// it soon.
  std::function<StopSignal()> told_to_end;
  /// Seconds that the main thread then has to end by itself before the last words are said: Open
  /// MPI's launcher kills 1 s after its SIGTERM (version 4) or 0.25 s after it (5). 0: no limit.
  double grace_s = 0.1;
};

WatchOptions watch_options(const WatchLimits& limits,
                           std::function<StopSignal()> told_to_end = nullptr);

/// Watches this rank's Activity, and on rank 0 those of all ranks. On a hang (see find_hang) the
/// process ends with kSystem: rank 0 prints the reason and notifies the others, which print only if
/// rank 0 is silent. Uses MPI only in the constructor.
class Watchdog {
 public:
  /// Collective.
  Watchdog(const Communicator& world, WatchOptions options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// While it lives, `say(reason)` is called at most once, on rank 0's watching thread, when the
  /// job is about to end and the main thread may not be able to report it: on a hang, a failure of
  /// another rank, or a signal.
  class [[nodiscard]] LastWords {
   public:
    LastWords(Watchdog* watchdog, std::function<void(const std::string& reason)> say);
    ~LastWords();
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;

   private:
    Watchdog* watchdog_;
  };

  /// Call when this rank is about to end the job. Returns when rank 0 has said its last words, or
  /// after a second.
  void report_failure(const std::string& message);

 private:
  class Watcher;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace runner
