// Descriptions of a convolution's products.
// Hides the library's argument lists.
#include "workloads/nn/convolution_problem.h"

#include <algorithm>
#include <vector>

namespace nn {
namespace {

using dnnl::memory;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

/// Tiles of 4 x 4 points that the library's Winograd products make of so many samples; 0 where they
/// do not beat its plain ones: more than a few channels, and not too much of the tiles beyond the
/// image. Both bounds were measured on AVX-512 with 32 to 512 channels and 3 to 112 points a side.
std::int64_t worthwhile_tiles(const Operation& operation, std::int64_t channels,
                              std::int64_t samples) {
  constexpr std::int64_t kSide = 4, kLeastChannels = 32;
  const std::vector<std::int64_t> three = {3, 3}, one = {1, 1};
  if (operation.kernel != three || operation.stride != one || operation.dilation != one) return 0;
  if (std::min(channels, operation.dst.channels) < kLeastChannels) return 0;
  std::int64_t tiles = samples;
  for (const std::int64_t extent : operation.dst.spatial) tiles *= (extent + kSide - 1) / kSide;
  const std::int64_t covered = tiles * kSide * kSide;
  return 10 * covered <= 14 * samples * operation.dst.points() ? tiles : 0;
}

/// Whether the library has what `describe` asks for.
template <class Describe>
bool exists(const Describe& describe) {
  try {
    describe();
    return true;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return false;
    throw;
  }
}

}  // namespace

ConvolutionProblem::ConvolutionProblem(const Operation& operation, const memory::desc& src,
                                       const memory::dims& weights, const Options& options,
                                       Device& device)
    : operation_(operation),
      src_(src),
      weights_dims_(weights),
      options_(options),
      device_(&device) {
  for (const std::int64_t apart : operation.dilation) skipped_.push_back(apart - 1);
}

memory::desc ConvolutionProblem::any_src(std::int64_t samples) const {
  memory::dims dims = src_.dims();
  dims.front() = samples;
  return any_desc(dims, options_.compute);
}

memory::desc ConvolutionProblem::wanted_src(std::int64_t samples) const {
  if (!options_.first) return any_src(samples);
  memory::desc src = retyped(src_, options_.compute);
  src.data.dims[0] = src.data.padded_dims[0] = samples;
  return src;
}

memory::desc ConvolutionProblem::any_dst(std::int64_t samples) const {
  return any_desc(batch_dims(samples, operation_.dst), options_.compute);
}

dnnl::convolution_forward::primitive_desc ConvolutionProblem::forward(std::int64_t samples) const {
  return forward_by(forward_algorithm_, samples);
}

dnnl::convolution_forward::primitive_desc ConvolutionProblem::forward_by(
    dnnl::algorithm algorithm, std::int64_t samples) const {
  const auto kind =
      options_.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const memory::dims& begin = operation_.padding.begin;
  const memory::dims& end = operation_.padding.end;
  const memory::desc weights = any_desc(weights_dims_, options_.compute);
  if (operation_.bias >= 0) {
    return {{kind, algorithm, wanted_src(samples), weights, plain_desc({operation_.dst.channels}),
             any_dst(samples), operation_.stride, skipped_, begin, end},
            user_scratchpad(),
            device_->engine};
  }
  return {{kind, algorithm, wanted_src(samples), weights, any_dst(samples), operation_.stride,
           skipped_, begin, end},
          user_scratchpad(),
          device_->engine};
}

dnnl::convolution_backward_data::primitive_desc ConvolutionProblem::data(
    std::int64_t samples) const {
  return {{data_algorithm_, any_src(samples), any_desc(weights_dims_, options_.compute),
           any_dst(samples), operation_.stride, skipped_, operation_.padding.begin,
           operation_.padding.end},
          user_scratchpad(),
          device_->engine,
          forward_by(kDirect, samples)};
}

dnnl::convolution_backward_weights::primitive_desc ConvolutionProblem::weights(
    std::int64_t samples) const {
  return {{weights_algorithm_, wanted_src(samples), any_desc(weights_dims_), any_dst(samples),
           operation_.stride, skipped_, operation_.padding.begin, operation_.padding.end},
          user_scratchpad(),
          device_->engine,
          forward_by(kDirect, samples)};
}

template <class Describe>
void ConvolutionProblem::choose(dnnl::algorithm& algorithm, const Describe& describe) {
  algorithm = dnnl::algorithm::convolution_winograd;
  if (!exists(describe)) algorithm = kDirect;
}

void ConvolutionProblem::allow_winograd_forward(std::int64_t samples) {
  constexpr std::int64_t kLeastTiles = 4;  // of a sample, as bits must not depend on their number
  if (options_.compute != memory::data_type::f32) return;
  if (worthwhile_tiles(operation_, src_.dims()[1], 1) < kLeastTiles) return;
  choose(forward_algorithm_, [&] { return forward(samples); });
}

void ConvolutionProblem::allow_winograd_gradients(std::int64_t samples) {
  if (options_.compute != memory::data_type::f32) return;
  constexpr std::int64_t kLeastTiles = 64;  // that make up for the transformation of weights
  if (worthwhile_tiles(operation_, src_.dims()[1], samples) < kLeastTiles) return;
  choose(weights_algorithm_, [&] { return weights(samples); });
  if (!options_.first) choose(data_algorithm_, [&] { return data(samples); });
}

bool ConvolutionProblem::uses_winograd_forward() const { return forward_algorithm_ != kDirect; }

bool ConvolutionProblem::uses_winograd_gradients() const {
  return weights_algorithm_ != kDirect || data_algorithm_ != kDirect;
}

bool ConvolutionProblem::is_by_points() const {
  const auto all = [](const auto& values, std::int64_t wanted) {
    return std::all_of(values.begin(), values.end(),
                       [wanted](std::int64_t value) { return value == wanted; });
  };
  return all(operation_.kernel, 1) && all(operation_.stride, 1) &&
         all(operation_.padding.begin, 0) && all(operation_.padding.end, 0);
}

ConvolutionProblem ConvolutionProblem::of_points(std::int64_t points) const {
  ConvolutionProblem part = *this;
  std::vector<std::int64_t>& spatial = part.operation_.dst.spatial;
  std::fill(spatial.begin(), spatial.end(), 1);
  spatial.back() = points;
  part.src_ = plain_desc(batch_dims(1, {src_.dims()[1], spatial}), options_.compute);
  return part;
}

}  // namespace nn
