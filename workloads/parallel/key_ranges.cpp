// Finds the ends of all ranges together, one 8-bit digit per round, most significant first: a round
// counts the keys that share an end's known digits, by their next digit.
#include "workloads/parallel/key_ranges.h"

#include <algorithm>
#include <array>
#include <span>

namespace parallel {
namespace {

constexpr int kKeyBits = 32, kDigitBits = 8;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
static_assert(kKeyRangeBytes == kDigits * sizeof(std::int64_t));

/// The last key of a range: the least key such that `wanted` keys are less than or equal to it.
struct End {
  std::uint64_t key = 0;    ///< the digits found so far, then zeros
  std::int64_t wanted = 0;  ///< less the number of keys below `key`
};

using Below = std::function<std::int64_t(std::uint64_t bound)>;

std::vector<End> ends_wanted(std::int64_t count, const runner::Communicator& ranks) {
  std::array<std::int64_t, 1> all = {count};
  ranks.allreduce_sum(std::span<std::int64_t>(all));
  std::vector<End> ends;
  for (std::int64_t parts = 1; parts < ranks.size(); ++parts) {
    const std::int64_t even = all[0] / ranks.size() * parts;
    ends.push_back({0, even + std::min(parts, all[0] % ranks.size())});
  }
  return ends;
}

/// Finds the next digit of every end.
void refine(std::vector<End>& ends, int shift, const Below& below,
            const runner::Communicator& ranks) {
  std::vector<std::int64_t> counts;
  counts.reserve(ends.size() * kDigits);
  for (const End& end : ends) {
    std::int64_t before = below(end.key);
    for (std::uint64_t digit = 1; digit <= kDigits; ++digit) {
      const std::int64_t up_to = below(end.key + (digit << shift));
      counts.push_back(up_to - before);
      before = up_to;
    }
  }
  ranks.allreduce_sum(std::span<std::int64_t>(counts));
  const std::int64_t* count = counts.data();
  for (End& end : ends) {
    std::uint64_t digit = 0;
    while (digit + 1 < kDigits && count[digit] < end.wanted) end.wanted -= count[digit++];
    end.key += digit << shift;
    count += kDigits;
  }
}

}  // namespace

std::vector<std::int64_t> even_key_ranges(const Below& below, std::int64_t count,
                                          const runner::Communicator& ranks) {
  std::vector<End> ends = ends_wanted(count, ranks);
  for (int shift = kKeyBits - kDigitBits; shift >= 0; shift -= kDigitBits) {
    refine(ends, shift, below, ranks);
  }
  std::vector<std::int64_t> counts;
  std::int64_t begin = 0;
  for (const End& last : ends) {
    const std::int64_t end = below(last.key + 1);
    counts.push_back(end - begin);
    begin = end;
  }
  counts.push_back(count - begin);
  return counts;
}

}  // namespace parallel
