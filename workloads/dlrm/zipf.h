// Draws ids from a Zipf distribution, in constant time and memory for tables of any size.
// Hides the alias table of the head and the approximation of the tail.
#pragma once

#include <cstdint>
#include <vector>

namespace dlrm {

/// P(id) is proportional to (id + 1 + kZipfShift)^-exponent.
inline constexpr double kZipfShift = 2.7;

/// Draws the first kHead ids from an alias table, and the rest by inverting the integral of the
/// weights, which differs there from their sum by less than one part in 10^9.
class Zipf {
 public:
  /// count > 0, exponent > 1.
  Zipf(std::int64_t count, double exponent);
  /// Ids below this have a slot in the alias table.
  static constexpr std::int64_t kHead = 1 << 14;
  /// Maps a uniform 64-bit hash to an id.
  std::int64_t draw(std::uint64_t hash) const;
  double probability(std::int64_t id) const;

 private:
  struct Slot {
    std::uint32_t share = 0;  ///< the slot yields its own id with probability share / 2^32
    std::int32_t other = 0;   ///< the id that it yields otherwise
  };
  double integral(double x) const;
  std::int64_t draw_tail(std::uint64_t hash) const;
  void fill_slots(std::vector<double> weights);

  std::int64_t count_;
  double exponent_;
  double total_ = 0.0, tail_ = 0.0;  ///< sums of weights
  std::vector<Slot> slots_;          ///< of the head, then one for the whole tail, if any
};

}  // namespace dlrm
