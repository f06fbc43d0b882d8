// The common start of members that train at the same time, each as its own job step. Members
// synchronise through files in set/.
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

/// Announces that the member of `claim` is ready. Returns when all members of the set are, at the
/// same calendar time in each; or when a stop is requested. Once all were ready, the start is
/// permanent (set/start.json). Throws Error(kIncomplete) if the time-out passes, naming the missing
/// members; if another member ended or died while this one waited; or if the start has already
/// happened without this one. Call it on rank 0 only.
void wait_for_start(const StartBarrier& barrier, SetMembers& members, MemberClaim& claim);

/// Whether the members of the set in `folder` have started together.
bool has_started(const std::string& folder);

}  // namespace runner
