// Sets of dataset indices: half-open ranges.
#include "staging/ranges.h"

#include <algorithm>

namespace staging {

Ranges merged(Ranges ranges) {
  std::erase_if(ranges, [](const auto& range) { return range.first >= range.second; });
  std::sort(ranges.begin(), ranges.end());
  Ranges result;
  for (const auto& range : ranges) {
    if (!result.empty() && range.first <= result.back().second) {
      result.back().second = std::max(result.back().second, range.second);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

}  // namespace staging
