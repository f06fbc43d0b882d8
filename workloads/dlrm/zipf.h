// Ids of Zipf's law, drawn at the same small cost from tables of any size.
// Hides the alias table and the tail.
#pragma once

#include <cstdint>
#include <vector>

namespace dlrm {

/// P(id) is proportional to (rank + kZipfShift)^-exponent; ranks count from 1, ids in their order
/// from 0.
inline constexpr double kZipfShift = 2.7;

/// The first ids are drawn from an alias table, the many behind them by inverting the integral of
/// the law, which at their place differs from its sum by less than one part in 10^9.
class Zipf {
 public:
  /// count > 0, exponent > 1.
  Zipf(std::int64_t count, double exponent);
  /// Ids below this have their own places in the table.
  static constexpr std::int64_t kHead = 1 << 14;
  /// The id that a uniform 64-bit hash means.
  std::int64_t draw(std::uint64_t hash) const;
  double probability(std::int64_t id) const;

 private:
  struct Slot {
    std::uint32_t share = 0;  ///< of 2^32: how often the slot means itself
    std::int32_t other = 0;   ///< else
  };
  double integral(double x) const;
  std::int64_t draw_tail(std::uint64_t hash) const;
  void fill_slots(std::vector<double> weights);

  std::int64_t count_;
  double exponent_;
  double total_ = 0.0, tail_ = 0.0;  ///< sums of weights
  std::vector<Slot> slots_;          ///< the head, then one for the whole tail if there is one
};

}  // namespace dlrm
