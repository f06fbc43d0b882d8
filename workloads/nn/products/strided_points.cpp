// Rows of points that are met.
// Hides nothing else.
#include "workloads/nn/products/strided_points.h"

#include <algorithm>

#include "workloads/nn/products/weights_split.h"

namespace nn {
namespace {

using dnnl::memory;

constexpr std::int64_t kBlock = PointKernels::kBlock, kTile = kBlock * kBlock;
constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

std::int64_t blocks_of(const SampleShape& image) { return (image.channels + kBlock - 1) / kBlock; }

}  // namespace

bool StridedPoints::supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                             const Planner& /*planner*/) {
  return problem.compute() == memory::data_type::f32 && is_blocked_floats(layouts.src) &&
         is_blocked_floats(layouts.dst) && has_tiled_weights(problem, layouts) &&
         !problem.is_first() && !problem.is_transposed() && problem.operation().bias < 0 &&
         problem.of_phases().phases().is_first_alone;
}

StridedPoints::StridedPoints(Planner& planner, const ConvolutionProblem& problem,
                             ConvolutionProduct product, int moment, const ValuePlace& from,
                             const ValuePlace& to) {
  const auto side = [&problem](Side of, const ValuePlace& place) -> Image {
    const SampleShape& shape = problem.image_of(of);
    Image image = {place, blocks_of(shape), shape.spatial[0], shape.spatial[1]};
    if (of == Side::kSource) {
      image.row_step = problem.operation().stride[0];
      image.point_step = problem.operation().stride[1] * kBlock;
    }
    return image;
  };
  turns_weights_ = product == ConvolutionProduct::kSourceGradient;
  from_ = side(turns_weights_ ? Side::kDestination : Side::kSource, from);
  to_ = side(turns_weights_ ? Side::kSource : Side::kDestination, to);
  const SampleShape& made = problem.image_of(Side::kDestination);
  rows_ = made.spatial[0];
  points_ = made.spatial[1];
  threads_ = planner.threads();
  parameter_ = problem.operation().weights;
  if (!turns_weights_) return;
  turned_buffer_ =
      planner.temporary(from_.blocks * to_.blocks * kTile * kFloatBytes, moment, "scratchpads");
}

void StridedPoints::bind(const Arena& arena, Device& /*device*/, const Kernels& kernels) {
  kernels_ = &kernels;
  weights_ = arena.parameters.weights(parameter_);
  source_ = arena.at(from_.place.buffer);
  destination_ = arena.at(to_.place.buffer);
  if (turns_weights_) turned_ = arena.at(turned_buffer_);
}

void StridedPoints::turn_weights() const {
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads_)
  for (std::int64_t from = 0; from < from_.blocks; ++from) {
    for (std::int64_t to = 0; to < to_.blocks; ++to) {
      kernels_->weight_tiles.transpose(weights_ + (from * to_.blocks + to) * kTile,
                                       turned_ + (to * from_.blocks + from) * kTile);
    }
  }
}

/// A row that is written goes as far as the next one.
void StridedPoints::run(const Samples& samples, bool /*adds*/) {
  if (turns_weights_ && samples.first == 0) turn_weights();
  const Stores stores =
      stores_of<float>(samples.count * to_.blocks * to_.block_floats(), kernels_->has_tiles());
  const std::int64_t all = samples.count * rows_;
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (std::int64_t i = 0; i < all; ++i) {
    const std::int64_t sample = samples.first + i / rows_, row = i % rows_;
    const std::int64_t next = samples.first + (i + 1) / rows_;
    const PointKernels::Points in = {
        source_ + from_.at(samples, sample, row), from_.blocks, from_.block_floats(),
        from_.point_step,
        i + 1 < all ? source_ + from_.at(samples, next, (i + 1) % rows_) : nullptr};
    const std::int64_t written = std::min(to_.row_step, to_.rows - row * to_.row_step);
    kernels_->points.multiply(
        in, points_, turns_weights_ ? turned_ : weights_,
        {destination_ + to_.at(samples, sample, row), to_.blocks, to_.block_floats(),
         to_.point_step, written * to_.row_floats(), stores});
  }
}

}  // namespace nn
