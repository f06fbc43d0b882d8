// A stable radix sort, least significant digit first.
#include "workloads/embedding/row_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "runner/base/ceil_div.h"

namespace nn {

namespace {

/// With more bits, the ends of the buckets no longer stay in the L1 cache and the TLB.
constexpr int kMostDigitBits = 11;

struct Digits {
  int bits = 0;
  int passes = 0;
};

/// The cheapest way to cover `bits`: the cost of a pass is the number of its lookups and buckets.
Digits digits_for(int bits, std::size_t lookups) {
  Digits best;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int passes = 1; passes <= bits; ++passes) {
    const int width = base::ceil_div(bits, passes);
    if (width > kMostDigitBits) continue;
    const double cost = passes * static_cast<double>(lookups + (std::size_t{1} << width));
    if (cost < best_cost) {
      best_cost = cost;
      best = {width, passes};
    }
  }
  return best;
}

/// Moves `from` to `to`, ordered by the digit that begins at bit `shift`.
void pass(std::span<const Lookup> from, Lookup* to, int shift, int bits) {
  std::array<std::uint32_t, 1 << kMostDigitBits> places;
  const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
  std::fill_n(places.begin(), mask + 1, 0);
  const auto digit = [&](const Lookup& lookup) {
    return static_cast<std::uint32_t>(lookup.row) >> shift & mask;
  };
  for (const Lookup& lookup : from) ++places[digit(lookup)];
  std::uint32_t place = 0;
  for (std::uint32_t d = 0; d <= mask; ++d) {
    const std::uint32_t count = places[d];
    places[d] = place;
    place += count;
  }
  for (const Lookup& lookup : from) to[places[digit(lookup)]++] = lookup;
}

}  // namespace

std::span<const Lookup> sort_by_row(std::span<Lookup> lookups, std::vector<Lookup>& spare,
                                    std::int64_t rows, int common_bits) {
  const auto row_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1)));
  const Digits digits = digits_for(std::max(row_bits - common_bits, 0), lookups.size());
  if (spare.size() < lookups.size()) spare.resize(lookups.size());
  std::span<Lookup> from = lookups;
  std::span<Lookup> to(spare.data(), lookups.size());
  for (int p = 0; p < digits.passes; ++p) {
    pass(from, to.data(), common_bits + p * digits.bits, digits.bits);
    std::swap(from, to);
  }
  return from;
}

}  // namespace nn
