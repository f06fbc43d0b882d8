// Bags of ids: the rows of an embedding table that each sample adds up.
#pragma once

#include <cstdint>
#include <span>

namespace nn {

/// Bag n has ids[offsets[n] .. offsets[n + 1]). There may be ids before the first and after the
/// last bag, so that part of the offsets describes part of the bags.
struct Bags {
  std::span<const std::int32_t> ids;
  std::span<const std::int64_t> offsets;  ///< [bags + 1]
  std::int64_t count() const {
    return offsets.empty() ? 0 : static_cast<std::int64_t>(offsets.size()) - 1;
  }
  std::int64_t lookups() const { return offsets.empty() ? 0 : offsets.back() - offsets.front(); }
};

}  // namespace nn
