// oneDNN descriptions of a convolution's products.
#include "workloads/nn/products/convolution_problem.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/tiling.h"

namespace nn {
namespace {

using dnnl::memory;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

bool all_are(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  return std::all_of(values.begin(), values.end(),
                     [wanted](std::int64_t value) { return value == wanted; });
}

SampleShape shape_of(const memory::desc& values) {
  const memory::dims dims = dims_of(values);
  return {dims[1], {dims.begin() + 2, dims.end()}};
}

/// Phases of a strided 1x1 convolution, if it reads exactly the first phase; else none.
Phases skipping_phases_of(const Operation& operation, const SampleShape& src) {
  const auto& stride = operation.stride;
  const Phases phases = {stride[0], src.spatial[0], src.spatial[1], true};
  const std::vector<std::int64_t> seen = {phases.rows(), phases.columns()};
  const bool fits = all_are(stride, stride[0]) && operation.dst.spatial == seen &&
                    all_are(operation.padding.begin, 0);
  return fits ? phases : Phases{};
}

/// Phases of an atrous convolution that keeps the image's extents, or of a strided 1x1 convolution;
/// else none.
Phases possible_phases(const Operation& operation, const SampleShape& src) {
  const auto& apart = operation.dilation;
  if (operation.kernel.size() == 2 && all_are(operation.kernel, 1) && operation.stride[0] > 1) {
    return skipping_phases_of(operation, src);
  }
  if (apart.size() != 2 || apart[0] == 1 || apart[1] != apart[0]) return {};
  if (all_are(operation.kernel, 1)) return {};
  const bool fits = all_are(operation.stride, 1) && src.spatial == operation.dst.spatial &&
                    operation.padding.begin == operation.padding.end &&
                    all_are(operation.padding.begin, apart[0] * (operation.kernel[0] / 2));
  return fits ? Phases{apart[0], src.spatial[0], src.spatial[1]} : Phases{};
}

/// Whether oneDNN implements what `describe` describes.
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
      from_(shape_of(src)),
      to_(operation.dst),
      weights_dims_(weights),
      options_(options),
      device_(&device) {
  for (const std::int64_t apart : operation.dilation) skipped_.push_back(apart - 1);
  skipped_.resize(operation.kernel.size(), 0);
  if (options.transposed) {
    std::swap(from_, to_);
  } else if (!options.first || all_are(operation.stride, 1)) {
    possible_phases_ = possible_phases(operation, from_);
  }
}

memory::desc ConvolutionProblem::any_values(std::int64_t samples, const SampleShape& shape) const {
  return any_desc(batch_dims(samples, shape), options_.compute);
}

memory::desc ConvolutionProblem::wanted_from(std::int64_t samples) const {
  const bool is_given = options_.first && !options_.transposed && phases_.apart == 1;
  if (!is_given) return any_values(samples, from_);
  return with_samples(retyped(src_, options_.compute), samples);
}

dnnl::convolution_forward::primitive_desc ConvolutionProblem::convolution(
    dnnl::algorithm algorithm, std::int64_t samples) const {
  // For inference, oneDNN's Winograd wants weights that are transformed beforehand, in a layout of
  // its own.
  const bool for_training = options_.training || algorithm != kDirect;
  const auto kind =
      for_training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const memory::dims& begin = operation_.padding.begin;
  const memory::dims& end = operation_.padding.end;
  const memory::desc weights = any_desc(weights_dims_, options_.compute);
  const memory::desc to =
      options_.gives_floats ? any_desc(batch_dims(samples, to_)) : any_values(samples, to_);
  if (operation_.bias >= 0) {
    return describe_forward<dnnl::convolution_forward>(
        device_->engine, user_scratchpad(), kind, algorithm, wanted_from(samples), weights,
        plain_desc({to_.channels}), to, operation_.stride, skipped_, begin, end);
  }
  return describe_forward<dnnl::convolution_forward>(device_->engine, user_scratchpad(), kind,
                                                     algorithm, wanted_from(samples), weights, to,
                                                     operation_.stride, skipped_, begin, end);
}

dnnl::convolution_backward_data::primitive_desc ConvolutionProblem::reverse(
    dnnl::algorithm algorithm, std::int64_t samples) const {
  const auto forward = convolution(kDirect, samples);
  return with_layouts_of(forward, [&] {
    return describe_backward<dnnl::convolution_backward_data>(
        device_->engine, forward, algorithm, any_values(samples, from_),
        any_desc(weights_dims_, options_.compute), any_values(samples, to_), operation_.stride,
        skipped_, operation_.padding.begin, operation_.padding.end);
  });
}

dnnl::primitive_desc ConvolutionProblem::describe(ConvolutionProduct product,
                                                  std::int64_t samples) const {
  switch (product) {
    case ConvolutionProduct::kForward:
      return forward(samples);
    case ConvolutionProduct::kSourceGradient:
      return source_gradient(samples);
    case ConvolutionProduct::kWeightsGradient:
      break;
  }
  return weights_gradient(samples);
}

dnnl::primitive_desc ConvolutionProblem::forward(std::int64_t samples) const {
  samples *= phases_.count();
  if (options_.transposed) return reverse(forward_algorithm_, samples);
  return convolution(forward_algorithm_, samples);
}

dnnl::primitive_desc ConvolutionProblem::source_gradient(std::int64_t samples) const {
  samples *= phases_.count();
  if (options_.transposed) return convolution(source_algorithm_, samples);
  return reverse(source_algorithm_, samples);
}

dnnl::primitive_desc ConvolutionProblem::weights_gradient(std::int64_t samples) const {
  samples *= phases_.count();
  return correct_weights_gradient(
      describe_backward<dnnl::convolution_backward_weights>(
          device_->engine, convolution(kDirect, samples), weights_algorithm_, wanted_from(samples),
          any_desc(weights_dims_), any_values(samples, to_), operation_.stride, skipped_,
          operation_.padding.begin, operation_.padding.end),
      skipped_);
}

/// Number of tiles of 4 x 4 pixels in oneDNN's Winograd products of `samples` samples; 0 where
/// these are not faster than its direct ones. Winograd needs more than a few channels, and few tile
/// pixels outside the image. Both bounds were measured on AVX-512 with 32 to 512 channels and 3 to
/// 112 pixels a side.
std::int64_t ConvolutionProblem::worthwhile_tiles(std::int64_t samples) const {
  constexpr std::int64_t kSide = kWinogradTile, kLeastChannels = 32;
  const std::vector<std::int64_t> three = {3, 3};
  if (options_.compute != memory::data_type::f32 || operation_.kernel != three) return 0;
  if (is_grouped()) return 0;
  if (!all_are(operation_.stride, 1) || !all_are(skipped_, 0)) return 0;
  if (std::min(from_.channels, to_.channels) < kLeastChannels) return 0;
  std::int64_t tiles = samples * phases_.count();
  const std::int64_t points = tiles * to_.spatial_size();
  for (const std::int64_t extent : to_.spatial) tiles *= base::ceil_div(extent, kSide);
  return 10 * tiles * kSide * kSide <= 14 * points ? tiles : 0;
}

template <class Describe>
void ConvolutionProblem::choose(dnnl::algorithm& algorithm, const Describe& describe) {
  algorithm = dnnl::algorithm::convolution_winograd;
  if (!exists(describe)) algorithm = kDirect;
}

void ConvolutionProblem::allow_winograd_forward() {
  constexpr std::int64_t kLeastTiles = 4;  // per sample
  if (worthwhile_tiles(1) < kLeastTiles) return;
  choose(forward_algorithm_, [&] { return forward(1); });
}

void ConvolutionProblem::allow_winograd_gradients(std::int64_t samples) {
  constexpr std::int64_t kLeastTiles = 64;  // that pay for transforming the weights
  if (worthwhile_tiles(samples) < kLeastTiles) return;
  choose(weights_algorithm_, [&] { return weights_gradient(samples); });
  if (!options_.first) choose(source_algorithm_, [&] { return source_gradient(samples); });
}

bool ConvolutionProblem::uses_winograd_forward() const { return forward_algorithm_ != kDirect; }

bool ConvolutionProblem::uses_winograd_gradients() const {
  return weights_algorithm_ != kDirect || source_algorithm_ != kDirect;
}

bool ConvolutionProblem::is_pointwise() const {
  return !options_.transposed && operation_.kernel.size() == 2 && all_are(operation_.kernel, 1) &&
         all_are(operation_.stride, 1) && all_are(operation_.padding.begin, 0) &&
         all_are(operation_.padding.end, 0);
}

ConvolutionProblem ConvolutionProblem::of_points(std::int64_t points) const {
  ConvolutionProblem part = *this;
  for (SampleShape* const shape : {&part.from_, &part.to_}) {
    std::fill(shape->spatial.begin(), shape->spatial.end(), 1);
    shape->spatial.back() = points;
  }
  part.options_.first = false;  // its source has the layout of a piece
  return part;
}

bool ConvolutionProblem::is_by_rows() const {
  return operation_.kernel.size() == 2 && !options_.first && !is_pointwise() &&
         phases_.apart == 1 && all_are(skipped_, 0) &&
         operation_.padding.begin[0] < operation_.kernel[0];
}

std::int64_t ConvolutionProblem::rows() const {
  const std::int64_t stride = operation_.stride[0];
  return std::max(to_.spatial[0], base::ceil_div(from_.spatial[0], stride));
}

Rows ConvolutionProblem::rows_of(ConvolutionProduct product, Side side, const Rows& strip) const {
  const std::int64_t stride = operation_.stride[0], kernel = operation_.kernel[0];
  const std::int64_t padding = operation_.padding.begin[0];
  if (!is_reverse(product)) {
    if (!is_from(side)) return strip;
    return {strip.first * stride - padding, (strip.count - 1) * stride + kernel};
  }
  if (is_from(side)) return {strip.first * stride, strip.count * stride};
  // Rows of `to` whose windows reach the strip.
  const std::int64_t before = (kernel - 1 - padding) / stride;
  const std::int64_t last = (strip.count * stride - 1 + padding) / stride;
  return {strip.first - before, before + last + 1};
}

ConvolutionProblem ConvolutionProblem::of_rows(ConvolutionProduct product,
                                               std::int64_t count) const {
  ConvolutionProblem part = *this;
  const Rows source = rows_of(product, Side::kSource, {0, count});
  const Rows destination = rows_of(product, Side::kDestination, {0, count});
  const Rows& from = options_.transposed ? destination : source;
  const Rows& to = options_.transposed ? source : destination;
  part.from_.spatial[0] = from.count;
  part.to_.spatial[0] = to.count;
  const std::int64_t stride = operation_.stride[0], before = operation_.padding.begin[0];
  const std::int64_t begin = to.first * stride - before;
  const std::int64_t end = begin + (to.count - 1) * stride + operation_.kernel[0];
  part.operation_.padding.begin[0] = from.first - begin;
  part.operation_.padding.end[0] = std::max<std::int64_t>(0, end - (from.first + from.count));
  return part;
}

ConvolutionProblem ConvolutionProblem::of_phases() const {
  if (possible_phases_.apart == 1) return *this;
  ConvolutionProblem dense = *this;
  dense.phases_ = std::exchange(dense.possible_phases_, {});
  for (SampleShape* const shape : {&dense.from_, &dense.to_}) {
    shape->spatial = {dense.phases_.rows(), dense.phases_.columns()};
  }
  std::fill(dense.skipped_.begin(), dense.skipped_.end(), 0);
  std::fill(dense.operation_.stride.begin(), dense.operation_.stride.end(), 1);
  for (auto* const padding : {&dense.operation_.padding.begin, &dense.operation_.padding.end}) {
    for (std::int64_t& points : *padding) points /= dense.phases_.apart;
  }
  return dense;
}

bool has_tiled_weights(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts) {
  return layouts.weights == tiled_weights_desc(problem.weights_dims());
}

bool has_gaps(const Operation& operation) {
  for (std::size_t axis = 0; axis < operation.kernel.size(); ++axis) {
    if (operation.kernel[axis] < operation.stride[axis]) return true;
  }
  return false;
}

bool has_taps(const Operation& operation) { return !all_are(operation.kernel, 1); }

}  // namespace nn
