// Decides whether a job hangs or has lost a rank, and names the culprits.
#pragma once

#include <span>
#include <string>

#include "runner/base/activity.h"
#include "runner/mailbox.h"

namespace runner {

/// The watcher's knowledge of a rank.
struct Seen {
  RankState state;
  bool heard = false;     ///< at least once; otherwise only state.rank is known
  double silent_s = 0.0;  ///< time since its last message; 0 for the watcher itself
};

/// The judging rank and its time limits.
struct Judge {
  double hang_s = 0.0;  ///< limit without progress; 0: none
  double lost_s = 0.0;  ///< limit without a sign of life; 0: none
  std::string host;
  std::string root;  ///< address where rank 0 listens
};

/// The reason to end the job, with ranks and operations; empty while it may go on.
/// - A rank is lost if it was silent for `lost_s` and either another rank waits, or it is on the
///   judge's own host, where no network loses messages.
/// - The job hangs if some rank has made no progress for `hang_s` and either a rank is stuck in its
///   own work, or all ranks wait for others. It is no hang if one rank waits while another works,
///   however long.
std::string find_hang(std::span<const Seen> ranks, const Judge& judge);

/// "training, step 57: exchange", without the call.
std::string doing_text(const base::Activity::Snapshot& glimpse);

/// "0-3, 7"; the ranks must be ascending.
std::string rank_list(std::span<const int> ranks);

}  // namespace runner
