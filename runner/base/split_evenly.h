// Parts of equal size, as nearly as whole numbers allow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace base {

/// The half-open range of part `part` when `total` items are split into `parts` contiguous parts
/// whose sizes differ by at most one, the longer ones first.
constexpr std::pair<std::int64_t, std::int64_t> split_evenly(std::int64_t total, std::int64_t parts,
                                                             std::int64_t part) {
  const std::int64_t each = total / parts, longer = total % parts;
  const std::int64_t first = part * each + std::min(part, longer);
  return {first, first + each + (part < longer ? 1 : 0)};
}

/// The part that has item `item` of these, 0 <= item < total.
constexpr std::int64_t part_of_item(std::int64_t total, std::int64_t parts, std::int64_t item) {
  const std::int64_t each = total / parts, longer = total % parts;
  const std::int64_t of_longer = longer * (each + 1);
  return item < of_longer ? item / (each + 1) : longer + (item - of_longer) / each;
}

}  // namespace base
