// Numbers for checks of exchanges: they tell rank and place, and any order of adding gives the same
// sums.
#pragma once

#include <array>
#include <cstddef>

namespace runner {

/// Whole numbers that repeat with an odd period, so that parts of usual sizes differ. Floats have
/// their sums over up to 16,000 ranks exactly.
class ExactTerms {
 public:
  explicit ExactTerms(int ranks) {
    for (std::size_t place = 0; place < kPeriod; ++place) {
      for (int rank = 0; rank < ranks; ++rank) sums_[place] += of(rank, place);
    }
  }
  static float of(int rank, std::size_t place) {
    return static_cast<float>((kStride * static_cast<std::size_t>(rank) + place) % kPeriod);
  }
  /// Of all ranks.
  float sum(std::size_t place) const { return sums_[place % kPeriod]; }

 private:
  static constexpr std::size_t kPeriod = 1021, kStride = 31;
  std::array<float, kPeriod> sums_{};
};

}  // namespace runner
