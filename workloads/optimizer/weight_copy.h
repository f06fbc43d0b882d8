// Copies of weights in the layout and type that a product reads. Whoever changes weights updates
// the copies at once, so that no pass has to convert them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/kernels/kernels.h"
#include "workloads/optimizer/blocked_layout.h"

namespace nn {

/// A copy of float weights [O, I, kernel...], stored in tiles of 16 or more output channels, with
/// the same tiles in another order, as float or bfloat16. Each element of a tile has one place in
/// the copy.
class WeightCopy {
 public:
  /// Returns nullopt for unsupported layouts, which the library (oneDNN) has to convert.
  static std::optional<WeightCopy> between(const BlockedLayout& from, const BlockedLayout& to,
                                           const Kernels& kernels);
  const BlockedLayout& layout() const { return to_; }
  std::int64_t bytes() const { return to_.bytes(); }
  /// Copies elements [begin, begin + count) of the weights, in memory order, to `copy`. Different
  /// ranges may be copied concurrently. The copy's padding is not written: it stays zero.
  void update(const float* weights, std::int64_t begin, std::int64_t count, void* copy) const;

 private:
  /// The order of a tile [input channels][16 output channels] in the copy.
  enum class Order {
    kTransposed,     ///< floats [16 output channels][16 input channels]
    kPairedRows,     ///< bfloat16 [pairs of input channels][output channels][2]
    kPairedColumns,  ///< bfloat16 [8 pairs of output channels][16 input channels][2]
  };
  /// The order, and the places of tiles in a block of the copy: `tiles` along each axis, `apart`
  /// elements from one to the next. Pairs of rows or columns are `stride` elements apart.
  struct Places {
    Order order = Order::kTransposed;
    std::int64_t stride = 0;
    std::int64_t tiles[2] = {1, 1}, apart[2] = {0, 0};  ///< by axis: output, input channels
  };
  WeightCopy() = default;
  static std::optional<Places> places_of(const BlockedLayout& from, const BlockedLayout& to);
  void find_places(const BlockedLayout& from);
  std::int64_t tile_floats() const { return rows_ * columns_; }
  void copy_tile(const float* tile, std::int64_t place, void* copy) const;
  /// Copies elements [first, first + count) of a tile.
  void copy_part(const float* values, std::int64_t first, std::int64_t count, std::int64_t place,
                 void* copy) const;

  BlockedLayout to_;
  Places in_block_;
  std::int64_t rows_ = 16, columns_ = 16;  ///< of a tile
  std::vector<std::int64_t> places_;       ///< of each tile in the copy, in elements
  const Kernels* kernels_ = nullptr;
};

/// A copy and its memory.
struct KeptCopy {
  WeightCopy rule;
  void* place = nullptr;
};

}  // namespace nn
