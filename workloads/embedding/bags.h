// Bags of ids: which rows of an embedding table each sample adds up.
// Hides nothing.
#pragma once

#include <cstdint>
#include <span>

namespace nn {

/// Bag n has ids[offsets[n] .. offsets[n + 1]). Ids outside of the bags may surround them, so that
/// a part of the offsets describes a part of the bags.
struct Bags {
  std::span<const std::int32_t> ids;
  std::span<const std::int64_t> offsets;  ///< one more than bags
  std::int64_t count() const {
    return offsets.empty() ? 0 : static_cast<std::int64_t>(offsets.size()) - 1;
  }
  std::int64_t lookups() const { return offsets.empty() ? 0 : offsets.back() - offsets.front(); }
};

}  // namespace nn
