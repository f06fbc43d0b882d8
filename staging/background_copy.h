// Copying that goes on while this rank trains.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "runner/base/clock.h"
#include "staging/bring.h"

namespace staging {

/// Makes transfers without a ring one after the other, on threads that give way to those which
/// train. A failure or a signal ends a transfer and the ones after it, and nothing else: samples
/// that are not copied are still in their source.
class BackgroundCopy {
 public:
  /// Starts. `clock` outlives this.
  BackgroundCopy(std::vector<Transfer> transfers, const base::Clock& clock);
  /// Ends it early, as end() does.
  ~BackgroundCopy();
  BackgroundCopy(const BackgroundCopy&) = delete;
  BackgroundCopy& operator=(const BackgroundCopy&) = delete;

  const std::vector<Transfer>& transfers() const { return transfers_; }
  /// Whether nothing is going on any more.
  bool is_done() const { return is_done_; }
  /// Ends it, at the latest after the samples that are being read and the packs that are being
  /// written. What is not yet a whole pack is removed.
  void end();

  /// Of one transfer.
  struct Result {
    Moved moved;
    std::int64_t took_ns = 0;
    std::string failure;  ///< why not all was moved; else ""
  };
  /// By transfer. Only after end().
  const std::vector<Result>& results() const { return results_; }

 private:
  void work();
  /// Returns whether all was moved.
  bool move_one(const Transfer& transfer, const Watch& watch, Result& result) const;

  const std::vector<Transfer> transfers_;
  const base::Clock& clock_;
  std::vector<Result> results_;
  std::atomic<bool> is_ending_{false}, is_done_{false};
  std::thread thread_;
};

}  // namespace staging
