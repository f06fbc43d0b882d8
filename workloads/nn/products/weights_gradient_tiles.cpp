// TileGradient: packing and multiplication piece by piece.
#include "workloads/nn/products/weights_gradient_tiles.h"

#include <omp.h>

#include <algorithm>
#include <array>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/tiling.h"

namespace nn {
namespace {

/// Tiles of a piece, along k: four panels stay in the L1 cache while they are multiplied with all
/// blocks, and sums are seldom read again.
constexpr std::int64_t kPieceTiles = 8;
constexpr std::int64_t kPiecePoints = kPieceTiles * TileGemm::kRows;

/// Pixels of a strip, independent of the number of threads.
constexpr std::int64_t kStripPoints = 4096;

}  // namespace

/// Pixels of `to`, counted through all samples, and `next` pixels after them to prefetch.
struct TileGradient::Piece {
  std::int64_t first = 0, count = 0, next = 0;
  std::int64_t tiles() const { return base::ceil_div(count, TileGemm::kRows); }
};

bool TileGradient::applies(const WindowShape& shape, Sharing sharing, std::int64_t samples,
                           int threads, const Kernels& kernels) {
  if (!kernels.has_tiles()) return false;
  if (sharing == Sharing::kChannels) {
    return WeightsSplit::applies(base::ceil_div(shape.out, TileGemm::kPanels * kLanes),
                                 base::ceil_div(shape.in, kLanes), threads);
  }
  const std::int64_t points = samples * shape.rows.to * shape.columns.to;
  return WeightsSplit::is_even(base::ceil_div(points, kStripPoints), threads);
}

bool TileGradient::are_sums_few(const WindowShape& shape) {
  constexpr std::int64_t kFew = 16;  // bytes read for each byte of sums, at least
  const std::int64_t sums = shape.in * shape.out * shape.taps() * std::int64_t{sizeof(float)};
  const std::int64_t read = kStripPoints * (shape.in + shape.out) * std::int64_t{sizeof(Bf16)};
  return sums * kFew <= read;
}

TileGradient::TileGradient(const WindowShape& shape, Sharing sharing, std::int64_t samples,
                           int threads, const Kernels& kernels)
    : shape_(shape),
      pitch_{shape.in, shape.columns.from * shape.in},
      sharing_(sharing),
      most_samples_(samples),
      threads_(threads),
      split_(groups(), blocks(), sharing == Sharing::kChannels ? threads : 1, shape.in > shape.out),
      kernels_(&kernels) {}

TileGradient::TileGradient(const WindowShape& shape, const Pitch& pitch, const Kernels& kernels)
    : TileGradient(shape, Sharing::kChannels, 1, 1, kernels) {
  pitch_ = pitch;
}

std::int64_t TileGradient::panels() const { return base::ceil_div(shape_.out, kLanes); }
std::int64_t TileGradient::groups() const {
  return base::ceil_div(shape_.out, TileGemm::kPanels * kLanes);
}
std::int64_t TileGradient::blocks() const { return base::ceil_div(shape_.in, kLanes); }

/// bf16 pairs of a thread's packed panels of `to`, and of packed blocks of `from` for one tap.
std::int64_t TileGradient::scratch_words() const {
  return (panels() + split_.blocks_of_part()) * kPieceTiles * kTileWords;
}
std::int64_t TileGradient::scratch_bytes() const {
  const std::int64_t words = threads_ * scratch_words() * std::int64_t{sizeof(std::uint32_t)};
  if (sharing_ == Sharing::kChannels) return words;
  const std::int64_t points = most_samples_ * shape_.rows.to * shape_.columns.to;
  return words + base::ceil_div(points, kStripPoints) * sums() * std::int64_t{sizeof(float)};
}

std::int64_t TileGradient::sums() const { return panels() * blocks() * shape_.taps() * kTileWords; }

/// Sets `rows` to the pixels of `from` that `tap` reads for the piece's pixels of `to`: null
/// outside the image and after the piece.
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
    // The first of these pixels inside the image, and the first after it.
    const std::int64_t before = x < 0 ? base::ceil_div(-x, across.stride) : 0;
    const std::int64_t met = across.from - x;
    const std::int64_t behind = met <= 0 ? 0 : base::ceil_div(met, across.stride);
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
  std::fill(rows + piece.count + piece.next, rows + (piece.tiles() + 1) * TileGemm::kRows, nullptr);
}

void TileGradient::run_part(const WeightsSplit::Part& part, const Bf16* from, const Bf16* to,
                            const Points& points, float* diff_weights, bool add,
                            std::uint32_t* scratch) const {
  const TileGemm& tiles = kernels_->tile_gemm;
  constexpr std::int64_t kStride = kPieceTiles * kTileWords;
  const std::int64_t first_panel = part.first_panel * TileGemm::kPanels;
  const std::int64_t end_panel = std::min(part.end_panel * TileGemm::kPanels, panels());
  const std::int64_t to_channels = std::min(end_panel * kLanes, shape_.out) - first_panel * kLanes;
  const std::int64_t from_channels =
      std::min(part.end_block * kLanes, shape_.in) - part.first_block * kLanes;
  std::uint32_t* const turned = scratch + (end_panel - first_panel) * kStride;
  std::array<const Bf16*, kPiecePoints + TileGemm::kRows> rows;
  for (std::int64_t first = points.first; first < points.end; first += kPiecePoints) {
    const std::int64_t left = points.end - first;
    const Piece piece = {first, std::min(kPiecePoints, left),
                         std::clamp<std::int64_t>(left - kPiecePoints, 0, TileGemm::kRows)};
    const Bf16* const first_to = to + first_panel * kLanes;
    for (std::int64_t i = 0; i < (piece.tiles() + 1) * TileGemm::kRows; ++i) {
      rows[static_cast<std::size_t>(i)] =
          i < piece.count + piece.next ? first_to + (first + i) * shape_.out : nullptr;
    }
    for (std::int64_t tile = 0; tile < piece.tiles(); ++tile) {
      tiles.pack(&rows[static_cast<std::size_t>(tile * TileGemm::kRows)], to_channels,
                 scratch + tile * kTileWords, kStride);
    }
    for (std::int64_t tap = 0; tap < shape_.taps(); ++tap) {
      place_rows(from + part.first_block * kLanes, tap, piece, rows.data());
      for (std::int64_t tile = 0; tile < piece.tiles(); ++tile) {
        tiles.pack_transposed(&rows[static_cast<std::size_t>(tile * TileGemm::kRows)],
                              from_channels, turned + tile * kTileWords, kStride);
      }
      const std::int64_t block_stride = shape_.taps() * kTileWords;
      const std::int64_t panel_stride = blocks() * block_stride;
      for (std::int64_t panel = first_panel; panel < end_panel; panel += TileGemm::kPanels) {
        float* const sums = diff_weights + panel * panel_stride + part.first_block * block_stride +
                            tap * kTileWords;
        tiles.multiply({.a = turned,
                        .a_block = kStride,
                        .b = scratch + (panel - first_panel) * kStride,
                        .b_panel = kStride,
                        .blocks = part.blocks(),
                        .panels = std::min<std::int64_t>(TileGemm::kPanels, end_panel - panel),
                        .steps = piece.tiles()},
                       {sums, block_stride, panel_stride, kLanes}, add || first > points.first);
      }
    }
  }
}

void TileGradient::run_strips(const Bf16* from, const Bf16* to, std::int64_t points,
                              float* diff_weights, bool add, std::uint32_t* scratch) const {
  const std::int64_t strips = base::ceil_div(points, kStripPoints);
  auto* const strip_sums = reinterpret_cast<float*>(scratch + threads_ * scratch_words());
#pragma omp parallel num_threads(threads_)
  {
    std::uint32_t* const own = scratch + omp_get_thread_num() * scratch_words();
#pragma omp for schedule(static)
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      const std::int64_t first = strip * kStripPoints;
      run_part(split_.of(0), from, to, {first, std::min(first + kStripPoints, points)},
               strip_sums + strip * sums(), false, own);
    }
    add_strips(strip_sums, strips, sums(), diff_weights, add);
  }
}

void TileGradient::run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights,
                       bool add, std::uint32_t* scratch) const {
  const std::int64_t points = samples * shape_.rows.to * shape_.columns.to;
  if (sharing_ == Sharing::kPixels) {
    return run_strips(from, to, points, diff_weights, add, scratch);
  }
  split_.for_each_part([&](const WeightsSplit::Part& part, int thread) {
    run_part(part, from, to, {0, points}, diff_weights, add, scratch + thread * scratch_words());
  });
}

}  // namespace nn
