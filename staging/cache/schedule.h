// When each sample of a run is drawn, and by which rank: what the caches know of the future.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "staging/sample_order.h"

namespace cache {

/// Later than any step.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Steps count from the start of the training, over all epochs. Memory: 8 bytes a rank.
class Schedule {
 public:
  /// `first_slots`: by rank, its first slot of a pass; they rise. A step's slots are those of its
  /// passes, of `pass_slots` each.
  Schedule(staging::SampleOrder order, std::vector<std::int64_t> first_slots,
           std::int64_t pass_slots, std::int64_t epochs);

  int ranks() const { return static_cast<int>(first_slots_.size()); }
  /// The step of the first draw of a sample after `epoch`, by any rank; kNever if there is none.
  std::int64_t next_draw(std::int64_t index, std::int64_t epoch) const;
  /// The same for draws by `rank`. Looks kHorizon epochs ahead.
  std::int64_t next_draw_by(int rank, std::int64_t index, std::int64_t epoch) const;
  static constexpr std::int64_t kHorizon = 256;
  /// The rank that draws a sample in `epoch`; if none does, one that the index alone decides.
  int reader(std::int64_t index, std::int64_t epoch) const;

 private:
  int rank_of(std::int64_t slot) const;

  staging::SampleOrder order_;
  std::vector<std::int64_t> first_slots_;
  std::int64_t pass_slots_, epochs_;
};

}  // namespace cache
