// The memory layout of a blocked tensor, independent of any library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace nn {

/// Element types of weights.
enum class ElementType { kF32, kBf16, kOther };

/// The layout of a tensor stored as blocks of elements: a block covers several elements along some
/// axes.
struct BlockedLayout {
  /// The extent of an axis within a block.
  struct Block {
    int axis = 0;
    std::int64_t extent = 1;
    bool operator==(const Block&) const = default;
  };
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> dims, padded;  ///< by axis; padded: a multiple of its blocks' extents
  std::vector<std::int64_t> strides;       ///< in elements, from one block of an axis to the next
  std::vector<Block> blocks;               ///< outermost first
  bool operator==(const BlockedLayout&) const = default;

  std::int64_t ndims() const { return static_cast<std::int64_t>(dims.size()); }
  /// Elements of a block along this axis.
  std::int64_t block_extent(std::size_t axis) const {
    std::int64_t extent = 1;
    for (const Block& block : blocks) {
      if (static_cast<std::size_t>(block.axis) == axis) extent *= block.extent;
    }
    return extent;
  }
  /// Elements from the first to the last, padding included.
  std::int64_t elements() const {
    std::int64_t end = 1;
    for (const Block& block : blocks) end *= block.extent;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      end = std::max(end, padded[axis] / block_extent(axis) * strides[axis]);
    }
    return end;
  }
  std::int64_t bytes() const { return elements() * (type == ElementType::kBf16 ? 2 : 4); }
};

}  // namespace nn
