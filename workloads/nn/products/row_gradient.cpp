// Rows of points, and the lines of windows that they meet.
// Hides nothing else.
#include "workloads/nn/products/row_gradient.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "workloads/nn/onednn.h"
#include "workloads/nn/products/weights_split.h"

namespace nn {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kRows = Bf16Tiles::kRows;
constexpr std::int64_t kTileWords = kLanes * kLanes;

/// Rows whose part of the gradient is summed apart: as many whatever the threads are.
constexpr std::int64_t kStripRows = 32;

std::int64_t strips_of(std::int64_t rows) { return (rows + kStripRows - 1) / kStripRows; }

}  // namespace

/// Of `to`, and whether there is one below it in memory.
struct RowGradient::Row {
  std::int64_t sample = 0, y = 0;
  bool is_last = false;
};

/// A thread's.
struct RowGradient::Work {
  std::uint32_t* turned;
  std::uint32_t* packed;           ///< [lines of a window] of lines
  std::vector<std::int64_t> held;  ///< which line each of them is
};

bool RowGradient::fits(const WindowShape& shape, std::int64_t samples, int threads,
                       const Kernels& kernels) {
  constexpr std::int64_t kWide = 256;       // points of which tiles of sums are read once
  constexpr std::int64_t kFewSums = 36864;  // 64 channels, to as many, of 3x3 points
  if (!kernels.has_tiles() || shape.taps() == 1) return false;
  return shape.in % kLanes == 0 && shape.out % kLanes == 0 && shape.columns.to >= kWide &&
         shape.in * shape.out * shape.taps() <= kFewSums &&
         WeightsSplit::is_even(strips_of(samples * shape.rows.to), threads);
}

RowGradient::RowGradient(const WindowShape& shape, std::int64_t samples, int threads,
                         const Kernels& kernels)
    : shape_(shape), most_samples_(samples), threads_(threads), kernels_(&kernels) {}

std::int64_t RowGradient::tiles() const { return (shape_.columns.to + kRows - 1) / kRows; }

std::int64_t RowGradient::line_words() const {
  return shape_.in / kLanes * shape_.columns.kernel * tiles() * kTileWords;
}

/// Channels of `to` turned, and the lines of a window packed.
std::int64_t RowGradient::scratch_words() const {
  return shape_.out / kLanes * tiles() * kTileWords + shape_.rows.kernel * line_words();
}

std::int64_t RowGradient::scratch_bytes() const {
  return threads_ * scratch_words() * std::int64_t{sizeof(std::uint32_t)} +
         strips_of(most_samples_ * shape_.rows.to) * sums() * std::int64_t{sizeof(float)};
}

void RowGradient::turn(const Row& row, const Bf16* to, std::uint32_t* turned) const {
  const std::int64_t points = shape_.columns.to, stride = tiles() * kTileWords;
  const std::int64_t there = row.is_last ? points : points + kRows;  // those behind are fetched
  const Bf16* const first = to + (row.sample * shape_.rows.to + row.y) * points * shape_.out;
  const Bf16* rows[2 * kRows];
  for (std::int64_t tile = 0; tile < tiles(); ++tile) {
    const Bf16* const from = first + tile * kRows * shape_.out;
    const std::int64_t left = points - tile * kRows, left_there = there - tile * kRows;
    const std::int64_t count = std::min(left, kRows), end = std::min(left_there, 2 * kRows);
    for (std::int64_t i = 0; i < count; ++i) rows[i] = from + i * shape_.out;
    for (std::int64_t i = count; i < kRows; ++i) rows[i] = nullptr;
    for (std::int64_t i = kRows; i < end; ++i) rows[i] = from + i * shape_.out;
    for (std::int64_t i = std::max(end, kRows); i < 2 * kRows; ++i) rows[i] = nullptr;
    kernels_->bf16_tiles.turn(rows, shape_.out, turned + tile * kTileWords, stride);
  }
}

/// Of a line of `from` that windows meet: [in / 16][taps of a line][tiles] as packed.
void RowGradient::pack(const Bf16* line, std::uint32_t* packed) const {
  const WindowAxis& across = shape_.columns;
  Bf16Tiles::Row row;
  row.columns = across.from;
  row.column_step = shape_.in;
  row.points = across.to;
  row.stride = across.stride;
  row.padding = across.padding;
  row.taps = across.kernel;
  row.tiles = tiles();
  row.tap_words = tiles() * kTileWords;
  for (std::int64_t block = 0; block < shape_.in / kLanes; ++block) {
    row.line = line + block * kLanes;
    kernels_->bf16_tiles.pack_row(row, packed + block * row.taps * row.tap_words);
  }
}

/// The first line that the row below is the first to meet.
std::int64_t RowGradient::next_line(const Row& row) const {
  const WindowAxis& down = shape_.rows;
  return std::min(row.y * down.stride - down.padding + down.kernel, down.from);
}

const Bf16* RowGradient::first_ahead(const Row& row, const Bf16* from) const {
  const std::int64_t line = row.sample * shape_.rows.from + next_line(row);
  return from + line * shape_.columns.from * shape_.in;
}

/// Of those that the row below is the first to meet, lines of memory that are fetched with each
/// tile of two blocks: all of them with all products of the row.
std::int64_t RowGradient::lines_ahead(const Row& row) const {
  const WindowAxis& down = shape_.rows;
  const std::int64_t lines = std::clamp<std::int64_t>(down.from - next_line(row), 0, down.stride);
  const std::int64_t numbers = lines * shape_.columns.from * shape_.in;
  const std::int64_t groups = (shape_.columns.kernel + Bf16Tiles::kPanels - 1) / Bf16Tiles::kPanels;
  const std::int64_t products = down.kernel * (shape_.in / kLanes) * groups;
  const std::int64_t steps = products * tiles() * ((shape_.out / kLanes + 1) / 2);
  return (numbers / kRows + steps - 1) / steps;
}

/// sums [lines][in / 16][taps of a line][out / 16][16 out][16 in]. A line stays packed for the rows
/// below, which meet it with other taps.
void RowGradient::add_row(const Row& row, const Bf16* from, const Bf16* to, Work& work,
                          float* sums) const {
  const WindowAxis& down = shape_.rows;
  const std::int64_t pitch = shape_.columns.from * shape_.in, columns = shape_.columns.kernel;
  const std::int64_t stride = tiles() * kTileWords, out_blocks = shape_.out / kLanes;
  turn(row, to, work.turned);
  const std::int64_t ahead_lines = lines_ahead(row);
  const Bf16* ahead = first_ahead(row, from);
  for (std::int64_t tap = 0; tap < down.kernel; ++tap) {
    const std::int64_t y = row.y * down.stride + tap - down.padding;
    if (y < 0 || y >= down.from) continue;
    const std::int64_t at = row.sample * down.from + y, place = at % down.kernel;
    std::uint32_t* const packed = work.packed + place * line_words();
    std::int64_t& held = work.held[static_cast<std::size_t>(place)];
    if (std::exchange(held, at) != at) {
      pack(from + at * pitch, packed);
    }
    for (std::int64_t block = 0; block < shape_.in / kLanes; ++block) {
      for (std::int64_t first = 0; first < columns; first += Bf16Tiles::kPanels) {
        const std::int64_t taps = std::min<std::int64_t>(columns - first, Bf16Tiles::kPanels);
        float* const to_sums = sums + ((tap * (shape_.in / kLanes) + block) * columns + first) *
                                          out_blocks * kTileWords;
        kernels_->bf16_tiles.multiply(
            {packed + (block * columns + first) * stride, stride, work.turned, stride, taps,
             out_blocks, tiles(), ahead, ahead_lines},
            {to_sums, kTileWords, out_blocks * kTileWords, kLanes}, true);
        ahead += tiles() * ((out_blocks + 1) / 2) * ahead_lines * kRows;
      }
    }
  }
}

void RowGradient::run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights,
                      bool add, std::uint32_t* scratch) const {
  const std::int64_t rows = samples * shape_.rows.to, strips = strips_of(rows);
  auto* const strip_sums = reinterpret_cast<float*>(scratch + threads_ * scratch_words());
  const std::int64_t in_blocks = shape_.in / kLanes, out_blocks = shape_.out / kLanes;
  const std::int64_t taps = shape_.taps(), columns = shape_.columns.kernel;
#pragma omp parallel num_threads(threads_)
  {
    std::uint32_t* const own = scratch + omp_get_thread_num() * scratch_words();
    Work work = {own, own + out_blocks * tiles() * kTileWords,
                 std::vector<std::int64_t>(static_cast<std::size_t>(shape_.rows.kernel), -1)};
#pragma omp for schedule(static)
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      float* const here = strip_sums + strip * sums();
      std::fill_n(here, sums(), 0.0F);
      const std::int64_t end = std::min((strip + 1) * kStripRows, rows);
      for (std::int64_t row = strip * kStripRows; row < end; ++row) {
        add_row({row / shape_.rows.to, row % shape_.rows.to, row + 1 == rows}, from, to, work,
                here);
      }
    }
    // From tiles of [16 out][16 in], tap by tap of a line.
#pragma omp for collapse(3) schedule(static)
    for (std::int64_t out = 0; out < out_blocks; ++out) {
      for (std::int64_t in = 0; in < in_blocks; ++in) {
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const std::int64_t line = (tap / columns * in_blocks + in) * columns + tap % columns;
          const float* tile = strip_sums + (line * out_blocks + out) * kTileWords;
          float* const to_tile = diff_weights + ((out * in_blocks + in) * taps + tap) * kTileWords;
          std::array<double, kTileWords> all = {};
          for (std::int64_t strip = 0; strip < strips; ++strip, tile += sums()) {
            for (std::int64_t i = 0; i < kTileWords; ++i) {
              all[static_cast<std::size_t>(i)] += static_cast<double>(tile[i]);
            }
          }
          for (std::int64_t i = 0; i < kTileWords; ++i) {
            const double sum = all[static_cast<std::size_t>(i % kLanes * kLanes + i / kLanes)];
            to_tile[i] = static_cast<float>(add ? static_cast<double>(to_tile[i]) + sum : sum);
          }
        }
      }
    }
  }
}

}  // namespace nn
