// Weights once more, in the layout and type that a product wants: whoever changes weights brings
// the copies up to date while the numbers are at hand, so that no pass has to convert them.
// Hides how the two layouts correspond.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/kernels/kernels.h"
#include "workloads/optimizer/blocked_layout.h"

namespace nn {

/// From weights of floats [O, I, kernel...] in tiles of 16 output channels, or more, to another
/// order of the same tiles, of floats or bfloat16. Each of a tile's elements has one place in the
/// copy.
class WeightCopy {
 public:
  /// Nothing for layouts that are not known; they have to be converted by the library.
  static std::optional<WeightCopy> between(const BlockedLayout& from, const BlockedLayout& to,
                                           const Kernels& kernels);
  const BlockedLayout& layout() const { return to_; }
  std::int64_t bytes() const { return to_.bytes(); }
  /// Brings elements [begin, begin + count) of the weights, as they stand in memory, into the copy.
  /// Parts may be brought at the same time. What pads the copy is left as it is: zero.
  void update(const float* weights, std::int64_t begin, std::int64_t count, void* copy) const;

 private:
  /// What becomes of a tile [input channels][16 output channels].
  enum class Order {
    kTransposed,     ///< floats [16 output channels][16 input channels]
    kPairedRows,     ///< bfloat16 [pairs of input channels][output channels][2]
    kPairedColumns,  ///< bfloat16 [8 pairs of output channels][16 input channels][2]
  };
  /// Which order, and how tiles lie in a block of the copy: so many along either axis, pairs of
  /// rows or columns `stride` numbers apart, and of a tile's neighbours along each axis so many
  /// numbers from one to the next.
  struct Places {
    Order order = Order::kTransposed;
    std::int64_t stride = 0;
    std::int64_t tiles[2] = {1, 1}, apart[2] = {0, 0};  ///< along output and input channels
  };
  WeightCopy() = default;
  static std::optional<Places> places_of(const BlockedLayout& from, const BlockedLayout& to);
  void find_places(const BlockedLayout& from);
  std::int64_t tile_floats() const { return rows_ * columns_; }
  void copy_tile(const float* tile, std::int64_t place, void* copy) const;
  /// Elements [first, first + count) of a tile.
  void copy_part(const float* values, std::int64_t first, std::int64_t count, std::int64_t place,
                 void* copy) const;

  BlockedLayout to_;
  Places in_block_;
  std::int64_t rows_ = 16, columns_ = 16;  ///< of a tile
  std::vector<std::int64_t> places_;       ///< of each tile in the copy, in elements
  const Kernels* kernels_ = nullptr;
};

/// A copy, and where it stands.
struct KeptCopy {
  WeightCopy rule;
  void* place = nullptr;
};

}  // namespace nn
