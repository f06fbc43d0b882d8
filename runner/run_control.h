// What happens between two steps of a run: whether it goes on, is saved, or ends.
// Hides the votes of the ranks, and when a checkpoint is due.
#pragma once

#include <cstdint>

#include "runner/run_state.h"

namespace runner {

/// All calls but steps_to_next_cut() are collective.
class RunControl {
 public:
  /// `run` outlives it.
  explicit RunControl(RunState& run) : run_(run) {}

  /// Goes on where a checkpoint was written, if there is one.
  void resume();
  /// True when the run goes on; else its outcome says why not, and what a signal stopped is saved.
  /// `finite`: the loss. `ns_per_step` sets the next cut; 0: nothing was trained.
  bool goes_on(bool finite = true, double ns_per_step = 0.0);
  /// Saves the run when somebody asked for it or its steps are due.
  void save_if_wanted();
  /// Of the steps up to `last` of the epoch, those before ranks have to agree or save.
  std::int64_t steps_to_next_cut(std::int64_t last) const;

 private:
  void save();
  bool stop(StopSignal signal);

  RunState& run_;
  bool checkpoint_wanted_ = false;
  std::int64_t saved_steps_ = 0;  ///< that a checkpoint has; a run that has not begun needs none
  std::int64_t steps_at_once_ = 1;
};

}  // namespace runner
