// WeightsGradient: the layouts it supports, and its products.
#include "workloads/nn/products/weights_gradient.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "workloads/kernels/tiling.h"

namespace nn {
namespace {

using dnnl::memory;

/// Whether activations have PairGradient's layout.
bool is_blocked_bf16(const memory::desc& desc) {
  const ChannelLayout layout = channel_layout(desc);
  return type_of(desc) == memory::data_type::bf16 && layout.width == kLanes &&
         layout.row_stride == kLanes && !layout.padded &&
         layout.block_stride == layout.rows * kLanes;
}

/// Whether weights are of a 1x1 convolution and have plain strides.
bool is_plain_matrix(const memory::desc& desc) {
  const std::optional<BlockedLayout> layout = layout_of(desc);
  return layout && layout->blocks.empty() &&
         std::all_of(layout->dims.begin() + 2, layout->dims.end(),
                     [](std::int64_t extent) { return extent == 1; });
}

/// The sides of oneDNN's convolution, which is reversed for a transposed one.
const SampleShape& from_of(const ConvolutionProblem& problem) {
  return problem.image_of(problem.is_transposed() ? Side::kDestination : Side::kSource);
}
const SampleShape& to_of(const ConvolutionProblem& problem) {
  return problem.image_of(problem.is_transposed() ? Side::kSource : Side::kDestination);
}

/// Whether the layouts are those that `method` reads.
bool has_layouts_of(Method method, const ConvolutionProblem& problem,
                    const ConvolutionLayouts& layouts) {
  const bool is_plain = !has_tiled_weights(problem, layouts);
  if (is_plain && (problem.is_transposed() || !is_plain_matrix(layouts.weights))) return false;
  if (problem.compute() != memory::data_type::bf16) return false;
  const bool is_blocked = !is_plain && is_blocked_bf16(layouts.src) && is_blocked_bf16(layouts.dst);
  if (method == Method::kPairs) return is_blocked;
  return !is_blocked && is_channels_last_bf16(layouts.src) && is_channels_last_bf16(layouts.dst);
}

/// Arranges the pixels of a 1x1 convolution in lines that nearly fill PairGradient's pieces.
WindowShape lines_of_pixels(std::int64_t pixels, std::int64_t in, std::int64_t out) {
  constexpr std::int64_t kMost = 256, kLeast = 16;
  std::int64_t length = std::min(pixels, kMost);
  while (length >= kLeast && pixels % length != 0) --length;
  if (length < kLeast) length = pixels;
  const std::int64_t lines = pixels / length;
  return {{lines, lines, 1, 1, 0}, {length, length, 1, 1, 0}, in, out};
}

WindowShape shape_for_pairs(const ConvolutionProblem& problem) {
  if (!problem.is_pointwise()) return windows_of(problem);
  return lines_of_pixels(to_of(problem).spatial_size(), from_of(problem).channels,
                         to_of(problem).channels);
}

TileGradient::Sharing sharing_of(Method method) {
  if (method == Method::kTiles) return TileGradient::Sharing::kChannels;
  if (method == Method::kTileStrips) return TileGradient::Sharing::kPixels;
  throw base::Error(base::ExitCode::kInternal, "no own gradient of weights by this method");
}

}  // namespace

WindowShape windows_of(const ConvolutionProblem& problem) {
  const Operation& operation = problem.operation();
  const SampleShape &from = from_of(problem), &to = to_of(problem);
  const auto axis = [&](std::size_t i) -> WindowAxis {
    return {from.spatial[i], to.spatial[i], operation.kernel[i], operation.stride[i],
            operation.padding.begin[i]};
  };
  const std::size_t axes = operation.kernel.size();
  return {axes == 2 ? axis(0) : WindowAxis{}, axis(axes - 1), from.channels, to.channels};
}

bool WeightsGradient::supports(Method method, const ConvolutionProblem& problem,
                               const ConvolutionLayouts& layouts, const Planner& planner) {
  if (is_atrous(problem.operation()) || !has_layouts_of(method, problem, layouts)) return false;
  const int threads = planner.threads();
  const Kernels& kernels = planner.kernels();
  const bool is_of_volumes = problem.operation().kernel.size() > 2;
  if (method == Method::kPairs) {
    return (problem.is_pointwise() || !is_of_volumes) &&
           PairGradient::applies(shape_for_pairs(problem), threads, kernels);
  }
  return !is_of_volumes &&
         TileGradient::applies(windows_of(problem), sharing_of(method),
                               planner.backward_slices().sizes().back(), threads, kernels);
}

WeightsGradient::WeightsGradient(Planner& planner, Method method, const ConvolutionProblem& problem,
                                 const ConvolutionLayouts& layouts, const Places& places)
    : weights_(problem.operation().weights) {
  const int threads = planner.threads();
  const Kernels& kernels = planner.kernels();
  std::int64_t scratch_bytes = 0;
  if (method == Method::kPairs) {
    scratch_bytes =
        product_.emplace<PairGradient>(shape_for_pairs(problem), threads, kernels).scratch_bytes();
  } else {
    scratch_bytes =
        product_
            .emplace<TileGradient>(windows_of(problem), sharing_of(method),
                                   planner.backward_slices().sizes().back(), threads, kernels)
            .scratch_bytes();
  }
  const Activations src = {places.src, channel_layout(layouts.src).sample_elements()};
  const Activations dst = {places.diff_dst, channel_layout(layouts.dst).sample_elements()};
  from_ = problem.is_transposed() ? dst : src;
  to_ = problem.is_transposed() ? src : dst;
  scratch_buffer_ = planner.temporary(scratch_bytes, planner.backward_moment(), "scratchpads");
  if (has_tiled_weights(problem, layouts)) return;
  const BlockedLayout weights = *layout_of(layouts.weights);
  plain_ = {to_of(problem).channels, from_of(problem).channels, weights.strides[0],
            weights.strides[1]};
  const memory::desc tiled = tiled_weights_desc(dims_of(layouts.weights));
  plain_->tiles_buffer = planner.temporary(static_cast<std::int64_t>(tiled.get_size()),
                                           planner.backward_moment(), "scratchpads");
}

void WeightsGradient::bind(const Arena& arena, Device& /*device*/, const Kernels& /*kernels*/) {
  diff_weights_ = arena.parameters.gradient(weights_);
  scratch_ = arena.at<std::uint32_t>(scratch_buffer_);
  from_.data = arena.at<Bf16>(from_.place.buffer);
  to_.data = arena.at<Bf16>(to_.place.buffer);
  if (plain_) plain_->tiles = arena.at(plain_->tiles_buffer);
}

void WeightsGradient::copy_from_tiles(float* diff_weights, bool add) const {
  const std::int64_t blocks = base::ceil_div(plain_->in, kLanes);
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

void WeightsGradient::run_product(const Samples& samples, float* diff_weights, bool add) const {
  const auto run = [&](const auto& product) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(product)>, std::monostate>) {
      product.run(from_.at(samples), to_.at(samples), samples.count, diff_weights, add, scratch_);
    }
  };
  std::visit(run, product_);
}

void WeightsGradient::run(const Samples& samples, bool adds) {
  if (!plain_) return run_product(samples, diff_weights_, adds);
  run_product(samples, plain_->tiles, false);
  copy_from_tiles(diff_weights_, adds);
}

}  // namespace nn
