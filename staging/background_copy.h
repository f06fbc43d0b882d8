// Copying beside training of what each node reads for itself.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "runner/base/clock.h"
#include "staging/copy_beside.h"

namespace staging {

/// Makes transfers without a ring, on threads that give way to those which train. A failure or a
/// signal ends a transfer and the ones after it.
class BackgroundCopy final : public CopyBeside {
 public:
  /// Starts. `clock` outlives this.
  BackgroundCopy(std::vector<Transfer> transfers, const base::Clock& clock);
  /// Ends it early, as end() does.
  ~BackgroundCopy() override;

  /// Nothing: the threads go on by themselves.
  void advance() override {}
  bool is_done() const override { return is_done_; }
  /// Not collective.
  void end() override;

 private:
  void work();
  /// Returns whether all was moved.
  bool move_one(const Transfer& transfer, const Watch& watch, Result& result) const;

  const base::Clock& clock_;
  std::atomic<bool> is_ending_{false}, is_done_{false};
  std::thread thread_;
};

}  // namespace staging
