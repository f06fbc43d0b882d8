// What ranks agree on between two training steps: to go on, to stop, or to save.
#pragma once

#include <cstdint>

#include "runner/communicator.h"
#include "runner/stop_signals.h"

namespace runner {

struct Votes {
  bool is_finite = true;  ///< whether the loss is finite on every rank
  StopSignal stop = StopSignal::kNone;
  bool wants_checkpoint = false;  ///< on at least one rank
  double ns_per_step = 0.0;       ///< mean over ranks
  bool breaks_a_rule = false;     ///< the log of a strict run breaks a rule; rank 0 decides
  bool lacks_records = false;     ///< the log cannot be written; rank 0 knows
};

/// Steps until ranks agree again: those of a second, and at least one. Between nodes, votes wait
/// behind gradients that are under way; so there it is up to eight, as many as fit into ten
/// seconds, if that is more.
std::int64_t steps_until_votes(double ns_per_step, bool is_between_nodes);

/// Collective. Returns the same votes on every rank, so that all decide alike.
Votes agree(const Communicator& world, const Votes& mine);

}  // namespace runner
