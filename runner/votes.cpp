// Votes by one integer sum, which does not depend on the order of ranks.
#include "runner/votes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

namespace runner {

std::int64_t steps_until_votes(double ns_per_step, bool is_between_nodes) {
  constexpr double kSecond = 1e9, kLongest = 10.0 * kSecond;
  constexpr std::int64_t kFew = 8;
  std::int64_t steps = std::llround(kSecond / ns_per_step);
  if (is_between_nodes) {
    steps = std::max(steps, std::min(kFew, static_cast<std::int64_t>(kLongest / ns_per_step)));
  }
  return std::max<std::int64_t>(1, steps);
}

Votes agree(const Communicator& world, const Votes& mine) {
  constexpr std::size_t kNotFinite = 0, kCheckpoint = 1, kNs = 2, kRule = 3, kLog = 4, kSignals = 5;
  std::array<std::int64_t, kSignals + kStopSignalCount> sums{};
  sums[kNotFinite] = mine.is_finite ? 0 : 1;
  sums[kCheckpoint] = mine.wants_checkpoint ? 1 : 0;
  sums[kNs] = static_cast<std::int64_t>(mine.ns_per_step);
  sums[kRule] = mine.breaks_a_rule ? 1 : 0;
  sums[kLog] = mine.lacks_records ? 1 : 0;
  sums[kSignals + static_cast<std::size_t>(mine.stop)] = 1;
  world.allreduce_sum(std::span<std::int64_t>(sums));
  Votes all{sums[kNotFinite] == 0, StopSignal::kNone,
            sums[kCheckpoint] > 0, static_cast<double>(sums[kNs]) / world.size(),
            sums[kRule] > 0,       sums[kLog] > 0};
  for (std::size_t i = kStopSignalCount - 1; i > 0; --i) {
    if (sums[kSignals + i] > 0) all.stop = static_cast<StopSignal>(i);
  }
  return all;
}

}  // namespace runner
