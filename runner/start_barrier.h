// The common start of members that train at the same time, each a job step of its own.
// Hides the files in set/ that they meet by.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runner/base/clock.h"
#include "runner/set_members.h"

namespace runner {

inline constexpr double kDefaultStartTimeoutS = 600.0;

struct StartBarrier {
  std::string folder;  ///< of the set's results
  const base::Clock& clock;
  double timeout_s = kDefaultStartTimeoutS;
  std::function<bool()> stop_requested;
  std::function<void()> progress;  ///< called while it waits
};

/// Tells that the member of `claim` is ready, and returns when all of the set's are, at the same
/// moment by the calendar in each of them; or when a stop is requested. Once all were ready, the
/// start is decided for ever (set/start.json). Throws Error(kIncomplete) naming the members that
/// are missing after the time-out, one that ended or died while this one waited, or the start that
/// this one came too late for. Called on rank 0 alone.
void wait_for_start(const StartBarrier& barrier, SetMembers& members, MemberClaim& claim);

/// Whether the members of the set in `folder` have started together.
bool has_started(const std::string& folder);

}  // namespace runner
