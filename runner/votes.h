// What ranks agree on between two training steps: whether to go on, to stop, to save.
#pragma once

#include "runner/communicator.h"
#include "runner/stop_signals.h"

namespace runner {

struct Votes {
  bool is_finite = true;  ///< the loss; one rank's that is not counts
  StopSignal stop = StopSignal::kNone;
  bool wants_checkpoint = false;  ///< one rank's wish is enough
  double ns_per_step = 0.0;       ///< mean of the ranks
  bool breaks_a_rule = false;     ///< the log of a strict run; rank 0 knows
};

/// Collective. The same on every rank, so that all draw one conclusion.
Votes agree(const Communicator& world, const Votes& mine);

}  // namespace runner
