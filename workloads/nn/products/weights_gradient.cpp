// Own gradients of weights within a pass.
// Hides nothing else.
#include "workloads/nn/products/weights_gradient.h"

#include <algorithm>
#include <optional>
#include <type_traits>

namespace nn {
namespace {

using dnnl::memory;

constexpr std::int64_t kLanes = 16;

/// Activations as the products read them.
bool is_blocked_bf16(const memory::desc& desc) {
  const ChannelLayout layout = channel_layout(desc);
  return desc.data_type() == memory::data_type::bf16 && layout.width == kLanes &&
         layout.row_stride == kLanes && !layout.padded &&
         layout.block_stride == layout.rows * kLanes;
}

/// Whether weights of single points have plain strides.
bool is_plain_matrix(const memory::desc& desc) {
  const std::optional<BlockedLayout> layout = layout_of(desc);
  return layout && layout->blocks.empty() &&
         std::all_of(layout->dims.begin() + 2, layout->dims.end(),
                     [](std::int64_t extent) { return extent == 1; });
}

/// Of an image or a line.
WindowShape window_shape(const ConvolutionProblem& problem, const SampleShape& from,
                         const SampleShape& to) {
  const Operation& operation = problem.operation();
  const auto axis = [&](std::size_t i) -> WindowAxis {
    return {from.spatial[i], to.spatial[i], operation.kernel[i], operation.stride[i],
            operation.padding.begin[i]};
  };
  const std::size_t axes = operation.kernel.size();
  return {axes == 2 ? axis(0) : WindowAxis{}, axis(axes - 1), from.channels, to.channels};
}

/// The library takes as long for windows without a stride, but those of small images: both were
/// measured on two cores, with 64 to 1024 channels and 7 to 56 points a side. In matrix tiles, of
/// ResNet-50's 3x3 windows in batches of 32, backward passes with a stride took 18, 15 and 18 ms so
/// and 18, 20 and 33 ms with the library's, and those of 7x7 points 12 and 17.
bool is_worthwhile(const WindowShape& shape) {
  constexpr std::int64_t kFewPoints = 128;
  return shape.rows.stride > 1 || shape.columns.stride > 1 ||
         shape.rows.to * shape.columns.to <= kFewPoints;
}

}  // namespace

std::int64_t OwnWeights::plan_blocked(Planner& planner, const ConvolutionProblem& problem,
                                      const SampleShape& from, const SampleShape& to) {
  const int threads = planner.threads();
  const Kernels& kernels = planner.kernels();
  const PointwiseGradient::Shape points = {to.points(), from.channels, to.channels};
  if (problem.is_by_points()) {
    if (!PointwiseGradient::fits(points, threads, kernels)) return 0;
    return product_.emplace<PointwiseGradient>(points, threads, kernels).scratch_bytes();
  }
  if (problem.operation().kernel.size() > 2) return 0;
  const WindowShape windows = window_shape(problem, from, to);
  // An odd number of samples leaves one of them alone.
  constexpr std::int64_t kManySamples = 4;
  const bool pairs_samples =
      windows.columns.to % 2 == 1 && planner.backward_slices().sizes().back() >= kManySamples;
  if (!is_worthwhile(windows) || !WindowGradient::fits(windows, threads, kernels)) return 0;
  return product_.emplace<WindowGradient>(windows, pairs_samples, threads, kernels).scratch_bytes();
}

std::int64_t OwnWeights::plan_floats(Planner& planner, const ConvolutionProblem& problem,
                                     const SampleShape& from, const SampleShape& to) {
  if (problem.operation().kernel.size() > 2) return 0;
  const WindowShape windows = window_shape(problem, from, to);
  const std::int64_t samples = planner.backward_slices().sizes().back();
  if (!FloatStripGradient::fits(windows, samples, planner.threads(), planner.kernels())) return 0;
  return product_
      .emplace<FloatStripGradient>(windows, samples, planner.threads(), planner.kernels())
      .scratch_bytes();
}

std::int64_t OwnWeights::plan_tiles(Planner& planner, const ConvolutionProblem& problem,
                                    const SampleShape& from, const SampleShape& to) {
  if (problem.operation().kernel.size() > 2) return 0;
  const WindowShape windows = window_shape(problem, from, to);
  const std::int64_t samples = planner.backward_slices().sizes().back();
  if (RowGradient::fits(windows, samples, planner.threads(), planner.kernels())) {
    return product_.emplace<RowGradient>(windows, samples, planner.threads(), planner.kernels())
        .scratch_bytes();
  }
  const bool is_wrong_otherwise = may_be_wrong_in_tiles(from, problem.operation().kernel, {});
  if (windows.taps() > 1 && !is_wrong_otherwise && !is_worthwhile(windows)) return 0;
  if (StripGradient::fits(windows, samples, planner.threads(), planner.kernels())) {
    return product_.emplace<StripGradient>(windows, samples, planner.threads(), planner.kernels())
        .scratch_bytes();
  }
  if (!TileGradient::fits(windows, planner.threads(), planner.kernels())) return 0;
  return product_.emplace<TileGradient>(windows, planner.threads(), planner.kernels())
      .scratch_bytes();
}

void OwnWeights::plan(Planner& planner, const ConvolutionProblem& problem, const Operands& operands,
                      const Places& places) {
  if (is_atrous(problem.operation())) return;
  const memory::desc tiled = tiled_weights_desc(operands.weights.dims());
  const bool is_plain = operands.weights != tiled;
  if (is_plain && (problem.is_transposed() || !is_plain_matrix(operands.weights))) return;
  // Of the library's convolution, which of a transposed one goes the other way.
  const bool is_transposed = problem.is_transposed();
  const SampleShape& from = problem.image_of(is_transposed ? Side::kDestination : Side::kSource);
  const SampleShape& to = problem.image_of(is_transposed ? Side::kSource : Side::kDestination);
  std::int64_t scratch_bytes = 0;
  if (problem.compute() != memory::data_type::bf16) {
    if (is_plain || !is_blocked_floats(operands.src) || !is_blocked_floats(operands.dst)) return;
    scratch_bytes = plan_floats(planner, problem, from, to);
  } else if (!is_plain && is_blocked_bf16(operands.src) && is_blocked_bf16(operands.dst)) {
    scratch_bytes = plan_blocked(planner, problem, from, to);
  } else if (is_channels_last_bf16(operands.src) && is_channels_last_bf16(operands.dst)) {
    scratch_bytes = plan_tiles(planner, problem, from, to);
  }
  if (!planned()) return;
  const Activations src = {places.src, channel_layout(operands.src).sample_numbers()};
  const Activations dst = {places.diff_dst, channel_layout(operands.dst).sample_numbers()};
  from_ = is_transposed ? dst : src;
  to_ = is_transposed ? src : dst;
  scratch_buffer_ = planner.temporary(scratch_bytes, planner.backward_moment(), "scratchpads");
  if (!is_plain) return;
  const BlockedLayout weights = *layout_of(operands.weights);
  plain_ = {to.channels, from.channels, weights.strides[0], weights.strides[1]};
  plain_->tiles_buffer = planner.temporary(static_cast<std::int64_t>(tiled.get_size()),
                                           planner.backward_moment(), "scratchpads");
}

void OwnWeights::bind(const Arena& arena) {
  scratch_ = arena.at<std::uint32_t>(scratch_buffer_);
  from_.data = arena.at<void>(from_.place.buffer);
  to_.data = arena.at<void>(to_.place.buffer);
  if (plain_) plain_->tiles = arena.at(plain_->tiles_buffer);
}

void OwnWeights::take_out_of_tiles(float* diff_weights, bool add) const {
  const std::int64_t blocks = (plain_->in + kLanes - 1) / kLanes;
#pragma omp parallel for schedule(static)
  for (std::int64_t out = 0; out < plain_->out; ++out) {
    for (std::int64_t in = 0; in < plain_->in; ++in) {
      const std::int64_t row = (out / kLanes * blocks + in / kLanes) * kLanes + in % kLanes;
      const float value = plain_->tiles[row * kLanes + out % kLanes];
      float& to = diff_weights[out * plain_->out_stride + in * plain_->in_stride];
      to = add ? to + value : value;
    }
  }
}

void OwnWeights::run_product(const Samples& samples, float* diff_weights, bool add) const {
  const auto run = [&](const auto& product) {
    using Product = std::decay_t<decltype(product)>;
    using Number = std::conditional_t<std::is_same_v<Product, FloatStripGradient>, float, Bf16>;
    if constexpr (!std::is_same_v<Product, std::monostate>) {
      product.run(from_.at<Number>(samples), to_.at<Number>(samples), samples.count, diff_weights,
                  add, scratch_);
    }
  };
  std::visit(run, product_);
}

void OwnWeights::run(const Samples& samples, float* diff_weights, bool add) {
  if (!plain_) return run_product(samples, diff_weights, add);
  run_product(samples, plain_->tiles, false);
  take_out_of_tiles(diff_weights, add);
}

}  // namespace nn
