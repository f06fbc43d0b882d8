// Pieces of the product, and which points meet.
// Hides nothing else.
#include "workloads/nn/products/tile_gradient.h"

#include <algorithm>
#include <array>

#include "workloads/nn/onednn.h"

namespace nn {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kPanels = TileGemm::kPanels;
constexpr std::int64_t kRows = TileGemm::kRows;
constexpr std::int64_t kTileWords = kLanes * kLanes;

/// Tiles of a piece, one behind the other: four panels stay in the first cache while they meet all
/// blocks, and sums are seldom read again.
constexpr std::int64_t kPieceTiles = 8;
constexpr std::int64_t kPiecePoints = kPieceTiles * kRows;

/// Parts of so many channels, the last of which may have fewer.
std::int64_t tiled(std::int64_t channels, std::int64_t part) {
  return (channels + part - 1) / part;
}

}  // namespace

/// Points of `to`, counted through all samples, and those to be fetched behind them.
struct TileGradient::Piece {
  std::int64_t first = 0, count = 0, next = 0;
  std::int64_t tiles() const { return (count + kRows - 1) / kRows; }
};

bool TileGradient::fits(const WindowShape& shape, int threads, const Kernels& kernels) {
  if (!kernels.has_tiles()) return false;
  return WeightsSplit::fits(tiled(shape.out, kPanels * kLanes), tiled(shape.in, kLanes), threads);
}

TileGradient::TileGradient(const WindowShape& shape, int threads, const Kernels& kernels)
    : TileGradient(shape, {shape.in, shape.columns.from * shape.in}, threads, kernels) {}

TileGradient::TileGradient(const WindowShape& shape, const Pitch& pitch, int threads,
                           const Kernels& kernels)
    : shape_(shape),
      pitch_(pitch),
      split_(groups(), blocks(), threads, shape.in > shape.out),
      kernels_(&kernels) {}

std::int64_t TileGradient::panels() const { return tiled(shape_.out, kLanes); }
std::int64_t TileGradient::groups() const { return tiled(shape_.out, kPanels * kLanes); }
std::int64_t TileGradient::blocks() const { return tiled(shape_.in, kLanes); }

/// A thread's panels of `to`, and the blocks of `from` that a tap meets.
std::int64_t TileGradient::scratch_words() const {
  return (panels() + split_.blocks_of_part()) * kPieceTiles * kTileWords;
}
std::int64_t TileGradient::scratch_bytes() const {
  return split_.threads() * scratch_words() * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

std::int64_t TileGradient::sums() const { return panels() * blocks() * shape_.taps() * kTileWords; }

/// Where the points of `from` stand that the piece's points of `to` meet: null beyond the image and
/// behind the piece.
void TileGradient::place_rows(const Bf16* from, std::int64_t tap, const Piece& piece,
                              const Bf16** rows) const {
  const WindowAxis& down = shape_.rows;
  const WindowAxis& across = shape_.columns;
  const std::int64_t tap_row = tap / across.kernel - down.padding;
  const std::int64_t tap_column = tap % across.kernel - across.padding;
  const std::int64_t step = across.stride * pitch_.point, end = piece.count + piece.next;
  std::int64_t column = piece.first % across.to;
  std::int64_t row = piece.first / across.to % down.to;
  std::int64_t sample = piece.first / across.to / down.to;
  for (std::int64_t i = 0; i < end;) {
    const std::int64_t count = std::min(end - i, across.to - column);
    const std::int64_t y = row * down.stride + tap_row, x = column * across.stride + tap_column;
    // The first of these points that meets the image, and the first that does no longer.
    const std::int64_t before = x < 0 ? (-x + across.stride - 1) / across.stride : 0;
    const std::int64_t met = across.from - x;
    const std::int64_t behind = met <= 0 ? 0 : (met + across.stride - 1) / across.stride;
    const bool is_there = y >= 0 && y < down.from;
    const std::int64_t first = is_there ? std::min(before, count) : count;
    const std::int64_t last = std::max(first, std::min(behind, count));
    const Bf16* point = from + (sample * down.from + (is_there ? y : 0)) * pitch_.row +
                        x * pitch_.point + first * step;
    std::fill(rows + i, rows + i + first, nullptr);
    for (std::int64_t k = i + first; k < i + last; ++k, point += step) rows[k] = point;
    std::fill(rows + i + last, rows + i + count, nullptr);
    i += count;
    column = 0;
    if (++row < down.to) continue;
    row = 0;
    ++sample;
  }
  std::fill(rows + piece.count + piece.next, rows + (piece.tiles() + 1) * kRows, nullptr);
}

void TileGradient::run_part(const WeightsSplit::Part& part, const Bf16* from, const Bf16* to,
                            const Points& points, float* diff_weights, bool add,
                            std::uint32_t* scratch) const {
  const TileGemm& tiles = kernels_->tile_gemm;
  constexpr std::int64_t kStride = kPieceTiles * kTileWords;
  const std::int64_t first_panel = part.first_panel * kPanels;
  const std::int64_t end_panel = std::min(part.end_panel * kPanels, panels());
  const std::int64_t to_channels = std::min(end_panel * kLanes, shape_.out) - first_panel * kLanes;
  const std::int64_t from_channels =
      std::min(part.end_block * kLanes, shape_.in) - part.first_block * kLanes;
  std::uint32_t* const turned = scratch + (end_panel - first_panel) * kStride;
  std::array<const Bf16*, kPiecePoints + kRows> rows;
  for (std::int64_t first = points.first; first < points.end; first += kPiecePoints) {
    const std::int64_t left = points.end - first;
    const Piece piece = {first, std::min(kPiecePoints, left),
                         std::clamp<std::int64_t>(left - kPiecePoints, 0, kRows)};
    const Bf16* const first_to = to + first_panel * kLanes;
    for (std::int64_t i = 0; i < (piece.tiles() + 1) * kRows; ++i) {
      rows[static_cast<std::size_t>(i)] =
          i < piece.count + piece.next ? first_to + (first + i) * shape_.out : nullptr;
    }
    for (std::int64_t tile = 0; tile < piece.tiles(); ++tile) {
      tiles.pack(&rows[static_cast<std::size_t>(tile * kRows)], to_channels,
                 scratch + tile * kTileWords, kStride);
    }
    for (std::int64_t tap = 0; tap < shape_.taps(); ++tap) {
      place_rows(from + part.first_block * kLanes, tap, piece, rows.data());
      for (std::int64_t tile = 0; tile < piece.tiles(); ++tile) {
        tiles.pack_transposed(&rows[static_cast<std::size_t>(tile * kRows)], from_channels,
                              turned + tile * kTileWords, kStride);
      }
      const std::int64_t block_stride = shape_.taps() * kTileWords;
      const std::int64_t panel_stride = blocks() * block_stride;
      for (std::int64_t panel = first_panel; panel < end_panel; panel += kPanels) {
        float* const sums = diff_weights + panel * panel_stride + part.first_block * block_stride +
                            tap * kTileWords;
        tiles.multiply({.a = turned,
                        .a_block = kStride,
                        .b = scratch + (panel - first_panel) * kStride,
                        .b_panel = kStride,
                        .blocks = part.blocks(),
                        .panels = std::min(kPanels, end_panel - panel),
                        .steps = piece.tiles()},
                       {sums, block_stride, panel_stride, kLanes}, add || first > points.first);
      }
    }
  }
}

void TileGradient::run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights,
                       bool add, std::uint32_t* scratch) const {
  const Points points = {0, samples * shape_.rows.to * shape_.columns.to};
  split_.for_each_part([&](const WeightsSplit::Part& part, int thread) {
    run_part(part, from, to, points, diff_weights, add, scratch + thread * scratch_words());
  });
}

}  // namespace nn
