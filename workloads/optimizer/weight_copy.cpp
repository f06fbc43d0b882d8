// Copies of weights, tile by tile.
#include "workloads/optimizer/weight_copy.h"

#include <algorithm>
#include <array>

namespace nn {
namespace {

using Blocks = std::vector<BlockedLayout::Block>;
constexpr std::int64_t kSide = 16, kHalfSide = kSide / 2;
/// Elements of a partial tile that are rounded at a time.
constexpr std::int64_t kPart = 256;
const Blocks kTile = {{1, 16}, {0, 16}};  // weights with blocked input channels
const Blocks kStemTile = {{0, 16}};       // few input channels, not blocked
const Blocks kTransposedTile = {{0, 16}, {1, 16}};
const Blocks kStemRowPairs = {{0, 16}, {1, 2}};

/// The number of output channels in a tile of 16 input channels of an inner product; 0 if `blocks`
/// is not such a tile.
std::int64_t wide_tile(const Blocks& blocks) {
  const bool is_tile = blocks.size() == 2 && blocks[0] == BlockedLayout::Block{1, kSide} &&
                       blocks[1].axis == 0 && blocks[1].extent % kSide == 0;
  return is_tile ? blocks[1].extent : 0;
}

/// Whether a block is whole tiles whose elements are paired along one axis.
bool is_pairs(const Blocks& blocks) {
  return blocks.size() == 3 && blocks[0].axis <= 1 && blocks[1].axis == 1 - blocks[0].axis &&
         blocks[0].extent % kHalfSide == 0 && blocks[1].extent % kSide == 0 &&
         blocks[2] == BlockedLayout::Block{blocks[0].axis, 2};
}

}  // namespace

std::optional<WeightCopy::Places> WeightCopy::places_of(const BlockedLayout& from,
                                                        const BlockedLayout& to) {
  const bool to_floats = to.type == ElementType::kF32;
  const bool to_bf16 = to.type == ElementType::kBf16;
  const Blocks &have = from.blocks, &want = to.blocks;
  if (have == kTile) {
    if (to_floats && want == kTransposedTile) return Places{Order::kTransposed};
    if (to_bf16 && is_pairs(want)) {
      const int paired = want[0].axis, other = want[1].axis;
      const std::int64_t row = 2 * want[1].extent;  // of pairs
      Places places;
      places.order = paired == 1 ? Order::kPairedRows : Order::kPairedColumns;
      places.stride = row;
      places.tiles[paired] = want[0].extent / kHalfSide;
      places.apart[paired] = kHalfSide * row;
      places.tiles[other] = want[1].extent / kSide;
      places.apart[other] = 2 * kSide;
      return places;
    }
  }
  if (const std::int64_t columns = wide_tile(have); columns > 0 && to_bf16) {
    const Blocks pairs = {{1, kHalfSide}, {0, columns}, {1, 2}};
    if (want == pairs) return Places{Order::kPairedRows, 2 * columns};
  }
  // In both layouts, all input channels of a kernel tap are contiguous.
  const bool is_stem =
      have == kStemTile && from.strides[1] == kSide && from.padded[0] == from.dims[0];
  if (is_stem && to_bf16 && want == kStemRowPairs && to.strides[1] == 2 * kSide) {
    return Places{Order::kPairedRows, 2 * kSide};
  }
  return std::nullopt;
}

std::optional<WeightCopy> WeightCopy::between(const BlockedLayout& from, const BlockedLayout& to,
                                              const Kernels& kernels) {
  if (from.dims != to.dims || from.type != ElementType::kF32) return std::nullopt;
  const std::optional<Places> places = places_of(from, to);
  if (!places) return std::nullopt;
  WeightCopy copy;
  copy.to_ = to;
  copy.in_block_ = *places;
  copy.kernels_ = &kernels;
  const std::int64_t wide = wide_tile(from.blocks);
  copy.rows_ = wide > 0 ? kSide : from.dims[1];
  copy.columns_ = wide > 0 ? wide : kSide;
  copy.find_places(from);
  return copy;
}

void WeightCopy::find_places(const BlockedLayout& from) {
  const std::size_t ndims = from.dims.size();
  // The number of tiles along each axis.
  std::vector<std::int64_t> extents = from.padded;
  extents[0] /= columns_;
  extents[1] /= rows_;
  std::int64_t tiles = 1;
  for (const std::int64_t extent : extents) tiles *= extent;
  places_.assign(static_cast<std::size_t>(tiles), 0);
  std::vector<std::int64_t> at(ndims, 0);
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    std::int64_t source = 0, place = 0;
    for (std::size_t axis = 0; axis < ndims; ++axis) {
      const bool is_blocked = axis < 2;
      const std::int64_t together = is_blocked ? in_block_.tiles[axis] : 1;
      source += at[axis] * from.strides[axis];
      place += at[axis] / together * to_.strides[axis];
      if (is_blocked) place += at[axis] % together * in_block_.apart[axis];
    }
    places_.at(static_cast<std::size_t>(source / tile_floats())) = place;
    for (std::size_t axis = ndims; axis-- > 0;) {
      if (++at[axis] < extents[axis]) break;
      at[axis] = 0;
    }
  }
}

void WeightCopy::copy_tile(const float* tile, std::int64_t place, void* copy) const {
  const WeightTiles& tiles = kernels_->weight_tiles;
  switch (in_block_.order) {
    case Order::kTransposed:
      return tiles.transpose(tile, static_cast<float*>(copy) + place);
    case Order::kPairedRows:
      return tiles.pair_rows(tile, rows_, columns_, static_cast<Bf16*>(copy) + place,
                             in_block_.stride);
    case Order::kPairedColumns:
      return tiles.pair_columns(tile, static_cast<Bf16*>(copy) + place, in_block_.stride);
  }
}

void WeightCopy::copy_part(const float* values, std::int64_t first, std::int64_t count,
                           std::int64_t place, void* copy) const {
  if (in_block_.order == Order::kTransposed) {
    float* const to = static_cast<float*>(copy) + place;
    for (std::int64_t i = 0; i < count; ++i) {
      to[(first + i) % columns_ * columns_ + (first + i) / columns_] = values[i];
    }
    return;
  }
  Bf16* const to = static_cast<Bf16*>(copy) + place;
  std::array<Bf16, kPart> rounded;
  for (std::int64_t done = 0; done < count; done += kPart) {
    const std::int64_t part = std::min(kPart, count - done);
    kernels_->round_to_bf16(values + done, rounded.data(), part);
    for (std::int64_t i = 0; i < part; ++i) {
      const std::int64_t row = (first + done + i) / columns_,
                         column = (first + done + i) % columns_;
      const std::int64_t at = in_block_.order == Order::kPairedRows
                                  ? row / 2 * in_block_.stride + 2 * column + row % 2
                                  : column / 2 * in_block_.stride + 2 * row + column % 2;
      to[at] = rounded[static_cast<std::size_t>(i)];
    }
  }
}

void WeightCopy::update(const float* weights, std::int64_t begin, std::int64_t count,
                        void* copy) const {
  const std::int64_t end = begin + count, tile = tile_floats();
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t index = at / tile, in_tile = at % tile;
    const std::int64_t place = places_[static_cast<std::size_t>(index)];
    const std::int64_t tile_end = std::min(end, (index + 1) * tile);
    if (in_tile == 0 && tile_end == (index + 1) * tile) {
      copy_tile(weights + at, place, copy);
    } else {
      copy_part(weights + at, in_tile, tile_end - at, place, copy);
    }
    at = tile_end;
  }
}

}  // namespace nn
