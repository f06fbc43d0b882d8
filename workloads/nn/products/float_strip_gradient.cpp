// Strips, their pieces, and their sums.
// Hides nothing else.
#include "workloads/nn/products/float_strip_gradient.h"

#include <algorithm>

#include "workloads/nn/products/strip_sums.h"
#include "workloads/nn/products/weights_split.h"

namespace nn {
namespace {

constexpr std::int64_t kBlock = PointKernels::kBlock;

/// Of a strip, about; as many whatever the threads are.
constexpr std::int64_t kStripPoints = 2048;

std::int64_t rows_of_strip(const WindowShape& shape) {
  return std::max<std::int64_t>(kStripPoints / shape.columns.to, 1);
}

std::int64_t blocks_of(std::int64_t channels) { return (channels + kBlock - 1) / kBlock; }

/// Single points, all of which are there.
bool is_of_points(const WindowAxis& axis) {
  return axis.kernel == 1 && axis.padding == 0 && (axis.to - 1) * axis.stride < axis.from;
}

}  // namespace

/// Neighbouring points of a row of `to`; rows are counted through all samples.
struct FloatStripGradient::Piece {
  std::int64_t row = 0, first = 0, count = 0;
};

bool FloatStripGradient::fits(const WindowShape& shape, std::int64_t samples, int threads,
                              const Kernels& kernels) {
  if (!kernels.has_pairs()) return false;
  if (!is_of_points(shape.rows) || !is_of_points(shape.columns)) return false;
  if (shape.rows.stride == 1 && shape.columns.stride == 1) return false;
  const std::int64_t rows = rows_of_strip(shape), all = samples * shape.rows.to;
  return shape.in * shape.out <= PointKernels::kMostWeights &&
         WeightsSplit::is_even((all + rows - 1) / rows, threads);
}

FloatStripGradient::FloatStripGradient(const WindowShape& shape, std::int64_t samples, int threads,
                                       const Kernels& kernels)
    : shape_(shape), most_samples_(samples), threads_(threads), kernels_(&kernels) {}

std::int64_t FloatStripGradient::sums() const {
  return blocks_of(shape_.in) * blocks_of(shape_.out) * kBlock * kBlock;
}

std::int64_t FloatStripGradient::strips_of(std::int64_t samples) const {
  const std::int64_t rows = rows_of_strip(shape_);
  return (samples * shape_.rows.to + rows - 1) / rows;
}

std::int64_t FloatStripGradient::scratch_bytes() const {
  return strips_of(most_samples_) * sums() * static_cast<std::int64_t>(sizeof(float));
}

PointKernels::Points FloatStripGradient::from_points(const float* from, const Piece& piece) const {
  const WindowAxis &down = shape_.rows, &across = shape_.columns;
  const std::int64_t sample = piece.row / down.to, y = piece.row % down.to * down.stride;
  const std::int64_t image = down.from * across.from, blocks = blocks_of(shape_.in);
  const std::int64_t at = sample * blocks * image + y * across.from + piece.first * across.stride;
  return {from + at * kBlock, blocks, image * kBlock, across.stride * kBlock, nullptr};
}

PointKernels::Points FloatStripGradient::to_points(const float* to, const Piece& piece) const {
  const WindowAxis &down = shape_.rows, &across = shape_.columns;
  const std::int64_t sample = piece.row / down.to, y = piece.row % down.to;
  const std::int64_t image = down.to * across.to, blocks = blocks_of(shape_.out);
  const std::int64_t at = sample * blocks * image + y * across.to + piece.first;
  return {to + at * kBlock, blocks, image * kBlock, kBlock, nullptr};
}

/// sums [out / 16][in][16]. Pieces stay in the first cache while all channels meet, and the next
/// one is fetched meanwhile.
void FloatStripGradient::run_strip(const float* from, const float* to, std::int64_t first_row,
                                   std::int64_t end_row, float* sums) const {
  constexpr std::int64_t kMostPoints = 72;
  const std::int64_t columns = shape_.columns.to;
  const std::int64_t pieces = (columns + kMostPoints - 1) / kMostPoints;
  const std::int64_t all = (end_row - first_row) * pieces;
  const auto piece_at = [&](std::int64_t i) -> Piece {
    const std::int64_t first = i % pieces * columns / pieces;
    return {first_row + i / pieces, first, (i % pieces + 1) * columns / pieces - first};
  };
  for (std::int64_t i = 0; i < all; ++i) {
    const Piece piece = piece_at(i);
    PointKernels::Points in = from_points(from, piece), out = to_points(to, piece);
    if (i + 1 < all) {
      in.next = from_points(from, piece_at(i + 1)).first;
      out.next = to_points(to, piece_at(i + 1)).first;
    }
    kernels_->points.sum_products(in, out, piece.count, sums, i > 0);
  }
}

void FloatStripGradient::run(const float* from, const float* to, std::int64_t samples,
                             float* diff_weights, bool add, std::uint32_t* scratch) const {
  const std::int64_t all_rows = samples * shape_.rows.to, rows = rows_of_strip(shape_);
  const std::int64_t strips = strips_of(samples);
  auto* const strip_sums = reinterpret_cast<float*>(scratch);
#pragma omp parallel num_threads(threads_)
  {
#pragma omp for schedule(static)
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      run_strip(from, to, strip * rows, std::min((strip + 1) * rows, all_rows),
                strip_sums + strip * sums());
    }
    add_strips(strip_sums, strips, sums(), diff_weights, add);
  }
}

}  // namespace nn
