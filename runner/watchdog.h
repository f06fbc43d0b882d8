// Ends a job that makes no progress or lost a rank, naming the rank and the operation that it waits
// for, and says why a job ended when the training thread no longer can.
// Hides the thread that watches, and what it hears of the other ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runner/communicator.h"
#include "runner/run_config.h"
#include "runner/stop_signals.h"

namespace runner {

struct WatchOptions {
  double hang_s = 0.0;  ///< without progress; 0: no hang is looked for
  double lost_s = 0.0;  ///< without a sign of life of a rank; 0: it may be silent for ever
  /// What told this rank to end. After all but kSaveAndEnd its launcher may kill it soon.
  std::function<StopSignal()> told_to_end;
  /// So long the main thread then has to end in its own way before the last words are said: Open
  /// MPI's launcher kills a second after its SIGTERM. 0: for ever.
  double grace_s = 0.2;
};

WatchOptions watch_options(const WatchLimits& limits,
                           std::function<StopSignal()> told_to_end = nullptr);

/// Watches this rank's Activity, and on rank 0 those of all. On a hang (see find_hang) the process
/// ends with kSystem: rank 0 tells the reason and lets the others know; they speak only where rank
/// 0 is silent. Uses no MPI but in the constructor.
class Watchdog {
 public:
  /// Collective.
  Watchdog(const Communicator& world, WatchOptions options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// While it lives, `say(reason)` is called on rank 0's watching thread when the job is about to
  /// end and the main thread may not come to say so: a hang, a failure of another rank, a signal.
  /// At most once.
  class [[nodiscard]] LastWords {
   public:
    LastWords(Watchdog* watchdog, std::function<void(const std::string& reason)> say);
    ~LastWords();
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;

   private:
    Watchdog* watchdog_;
  };

  /// This rank is about to end the job. Returns when rank 0 has said its last words, or after a
  /// second.
  void report_failure(const std::string& message);

 private:
  class Watcher;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace runner
