// The order in which sums under way take their steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace runner {

/// Inserts a sum behind those of the same or a higher priority.
template <class Sum>
void add_by_priority(Sum& sum, std::vector<Sum*>& sums) {
  const auto place = std::find_if(sums.begin(), sums.end(), [&](const Sum* other) {
    return other->priority() < sum.priority();
  });
  sums.insert(place, &sum);
}

/// Advances the sums, which are ordered by add_by_priority(), and removes those that are done. A
/// sum takes no step while kAhead others have a higher priority, as its messages would delay
/// theirs. Sums that the left neighbour has not begun do not count: it may be busy for long.
/// Source: prioritised allreduces, Sridharan et al., arXiv:1801.08030.
template <class Sum>
void go_on_in_order(std::vector<Sum*>& sums) {
  // One sends while the other waits for its neighbour.
  constexpr int kAhead = 2;
  int met = 0, ahead = 0;
  std::optional<std::int64_t> before;  // priority of the sum before
  std::erase_if(sums, [&](Sum* sum) {
    if (before && sum->priority() < *before) ahead = met;
    before = sum->priority();
    if (ahead >= kAhead) return false;
    if (sum->go_on()) return true;
    if (sum->has_met_neighbour()) ++met;
    return false;
  });
}

}  // namespace runner
