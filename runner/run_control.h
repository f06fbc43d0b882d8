// Decides between two steps whether a run goes on, is saved, or ends; all ranks agree.
#pragma once

#include <cstdint>

#include "runner/run_state.h"

namespace runner {

/// All calls but steps_to_next_cut() are collective.
class RunControl {
 public:
  /// `run` outlives this object.
  explicit RunControl(RunState& run) : run_(run) {}

  /// Restores the state from a checkpoint, if present.
  void resume();
  /// Returns true if the run goes on; otherwise sets its outcome. A run that a signal stops is
  /// saved first if checkpoints are scheduled or were requested. `finite`: whether the loss is
  /// finite. `ns_per_step` determines the next cut; 0: nothing was trained.
  bool goes_on(bool finite = true, double ns_per_step = 0.0);
  /// Saves the run if a checkpoint was requested or its interval has passed.
  void save_if_wanted();
  /// The number of steps, up to step `last` of the epoch, until ranks must agree or save.
  std::int64_t steps_to_next_cut(std::int64_t last) const;
  /// For a log that lacks records: saves the run if its checkpoints' disk has room, and throws
  /// AgreedError.
  [[noreturn]] void end_without_log();

 private:
  void save();
  bool stop(StopSignal signal);

  RunState& run_;
  bool checkpoint_wanted_ = false;
  std::int64_t saved_steps_ = 0;  ///< steps in the last checkpoint; 0 if there is none, as a run
                                  ///< that has not begun needs none
  std::int64_t steps_at_once_ = 1;
};

}  // namespace runner
