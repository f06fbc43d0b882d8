// Whether a job hangs or has lost a rank, and who keeps it from going on.
// Hides how ranks that stand still are told from those that only wait for them.
#pragma once

#include <span>
#include <string>

#include "runner/base/activity.h"
#include "runner/mailbox.h"

namespace runner {

/// What is known of a rank.
struct Seen {
  RankState state;
  bool heard = false;     ///< ever; else only state.rank is known
  double silent_s = 0.0;  ///< since it was last heard of; 0 for oneself
};

/// Who asks, and how patient it is.
struct Judge {
  double hang_s = 0.0;  ///< without progress; 0: for ever
  double lost_s = 0.0;  ///< without a sign of life; 0: for ever
  std::string host;
  std::string root;  ///< where rank 0 listens
};

/// Why the job is to end, naming ranks and operations; empty while it goes on.
/// - A rank is lost: nothing was heard of it for `lost_s`, and somebody waits, or it is on the
///   judge's own host, where no network loses letters.
/// - It hangs: some rank has made no progress for `hang_s`, and either stands still in work of its
///   own, or everybody waits for somebody. A rank that waits while another one works is no hang,
///   however long.
std::string find_hang(std::span<const Seen> ranks, const Judge& judge);

/// "training, step 57: exchange", without the call.
std::string doing_text(const base::Activity::Glimpse& glimpse);

/// "0-3, 7": ranks in rising order.
std::string rank_list(std::span<const int> ranks);

}  // namespace runner
