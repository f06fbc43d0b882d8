// Pads images in memory and convolves them.
#include "workloads/nn/products/padded_product.h"

#include <algorithm>
#include <string>

#include "workloads/kernels/tiling.h"

namespace nn {
namespace {

using dnnl::memory;

bool is_whole_blocks(const memory::desc& desc) {
  return is_blocked_floats(desc) && dims_of(desc)[1] % kLanes == 0;
}

/// The product as a forward convolution from `in` to `out` channels. oneDNN pads rows above and
/// below; rows are padded left and right in memory.
struct Padded {
  std::int64_t in = 0, out = 0;
  memory::dims begin, end;  ///< padding on both axes
};

/// The source gradient is the convolution of the destination's gradient with the taps in reverse.
Padded padded_of(const ConvolutionProblem& problem, ConvolutionProduct product) {
  const Operation& operation = problem.operation();
  const std::int64_t in = problem.image_of(Side::kSource).channels, out = operation.dst.channels;
  if (product == ConvolutionProduct::kForward) {
    return {in, out, operation.padding.begin, operation.padding.end};
  }
  Padded padded = {out, in, {}, {}};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = operation.dilation[i] * (operation.kernel[i] - 1);
    padded.begin.push_back(reach - operation.padding.begin[i]);
    padded.end.push_back(reach - operation.padding.end[i]);
  }
  return padded;
}

memory::desc blocked(std::int64_t samples, std::int64_t channels, std::int64_t rows,
                     std::int64_t columns) {
  return {{samples, channels, rows, columns}, memory::data_type::f32, memory::format_tag::nChw16c};
}

dnnl::convolution_forward::primitive_desc described(const ConvolutionProblem& problem,
                                                    const Padded& padded, std::int64_t samples,
                                                    Device& device) {
  const Operation& operation = problem.operation();
  const auto& spatial = operation.dst.spatial;
  const auto& kernel = operation.kernel;
  return describe_forward<dnnl::convolution_forward>(
      device.engine, user_scratchpad(), dnnl::prop_kind::forward_training,
      dnnl::algorithm::convolution_direct,
      blocked(samples, padded.in, spatial[0], spatial[1] + padded.begin[1] + padded.end[1]),
      tiled_weights_desc({padded.out, padded.in, kernel[0], kernel[1]}),
      blocked(samples, padded.out, spatial[0], spatial[1]), operation.stride,
      memory::dims{operation.dilation[0] - 1, operation.dilation[1] - 1},
      memory::dims{padded.begin[0], 0}, memory::dims{padded.end[0], 0});
}

bool has_in_name(const dnnl::primitive_desc& product, const char* part) {
  return std::string(product.impl_info_str()).find(part) != std::string::npos;
}

}  // namespace

bool PaddedProduct::supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                             const Planner& /*planner*/) {
  const Operation& operation = problem.operation();
  if (problem.compute() != memory::data_type::f32 || problem.is_transposed() ||
      problem.is_first() || operation.bias >= 0 || operation.kernel.size() != 2 ||
      !is_atrous(operation) || problem.phases().count() != 1 ||
      !has_tiled_weights(problem, layouts)) {
    return false;
  }
  const auto is_one = [](std::int64_t number) { return number == 1; };
  if (!is_whole_blocks(layouts.src) || !is_whole_blocks(layouts.dst) ||
      !std::all_of(operation.stride.begin(), operation.stride.end(), is_one) ||
      problem.image_of(Side::kSource).spatial != operation.dst.spatial) {
    return false;
  }
  if (!has_in_name(problem.forward(1), "gemm")) return false;
  for (const auto product : {ConvolutionProduct::kForward, ConvolutionProduct::kSourceGradient}) {
    const Padded padded = padded_of(problem, product);
    if (std::min({padded.begin[0], padded.begin[1], padded.end[0], padded.end[1]}) < 0)
      return false;
    try {
      if (!has_in_name(described(problem, padded, 1, problem.device()), "jit:")) return false;
    } catch (const dnnl::error&) {
      return false;
    }
  }
  return true;
}

PaddedProduct::PaddedProduct(Planner& planner, const ConvolutionProblem& problem,
                             ConvolutionProduct product, const Slices& slices, int moment,
                             const memory::desc& from_desc, const ValuePlace& from,
                             const memory::desc& to_desc, const ValuePlace& to) {
  const Padded padded = padded_of(problem, product);
  from_layout_ = channel_layout(from_desc);
  rows_ = dims_of(from_desc)[2];
  columns_ = dims_of(from_desc)[3];
  before_ = padded.begin[1];
  padded_columns_ = before_ + columns_ + padded.end[1];
  from_ = from;
  to_ = to;
  parameter_ = problem.operation().weights;
  const std::int64_t most = slices.sizes().back();
  padded_buffer_ = planner.temporary(
      static_cast<std::int64_t>(blocked(most, padded.in, rows_, padded_columns_).get_size()),
      moment, "padded images");
  memory::desc weights = tiled_weights_desc(problem.weights_dims());
  const bool is_forward = product == ConvolutionProduct::kForward;
  if (!is_forward) {
    out_ = padded.in;
    in_ = padded.out;
    taps_ = problem.operation().kernel[0] * problem.operation().kernel[1];
    weights = tiled_weights_desc({padded.out, padded.in, dims_of(weights)[2], dims_of(weights)[3]});
    turned_buffer_ = planner.temporary(static_cast<std::int64_t>(weights.get_size()), moment,
                                       "converted layouts");
  }
  product_.plan(
      planner, slices, moment,
      [&](std::int64_t samples) { return described(problem, padded, samples, planner.device()); },
      {{DNNL_ARG_SRC, blocked(planner.batch(), padded.in, rows_, padded_columns_), Extent::kSlice},
       {DNNL_ARG_WEIGHTS, weights, Extent::kWhole, false, is_forward ? parameter_ : -1},
       {DNNL_ARG_DST, to_desc, extent_of(to), true}});
}

void PaddedProduct::bind(const Arena& arena, Device& device, const Kernels& kernels) {
  kernels_ = &kernels;
  source_ = arena.at(from_.buffer);
  padded_ = arena.at(padded_buffer_);
  weights_ = arena.parameters.weights(parameter_);
  transposed_ = arena.at(turned_buffer_);
  void* const weights = transposed_ != nullptr ? static_cast<void*>(transposed_)
                                               : arena.parameters.weights(parameter_);
  product_.bind(arena, device, {padded_, weights, arena.at<void>(to_.buffer)});
}

void PaddedProduct::pad(const Samples& samples) const {
  const std::int64_t blocks = from_layout_.blocks, row_size = padded_columns_ * kLanes;
#pragma omp parallel for collapse(3) schedule(static)
  for (std::int64_t i = 0; i < samples.count; ++i) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (std::int64_t row = 0; row < rows_; ++row) {
        const std::int64_t sample = from_.row_of(samples.first + i, samples);
        const float* const from =
            source_ + from_layout_.offset(sample, block) + row * columns_ * kLanes;
        float* const to = padded_ + ((i * blocks + block) * rows_ + row) * row_size;
        std::fill_n(to, before_ * kLanes, 0.0F);
        std::copy_n(from, columns_ * kLanes, to + before_ * kLanes);
        std::fill(to + (before_ + columns_) * kLanes, to + row_size, 0.0F);
      }
    }
  }
}

/// Transposes [out / 16][in / 16][taps][16 in][16 out] to [in / 16][out / 16][taps][16 out][16 in],
/// the last tap first.
void PaddedProduct::transpose_weights() const {
  const std::int64_t outs = out_ / kLanes, ins = in_ / kLanes;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t in = 0; in < ins; ++in) {
    for (std::int64_t out = 0; out < outs; ++out) {
      const float* const from = weights_ + (out * ins + in) * taps_ * kTileWords;
      float* const to = transposed_ + (in * outs + out) * taps_ * kTileWords;
      for (std::int64_t tap = 0; tap < taps_; ++tap) {
        kernels_->weight_tiles.transpose(from + tap * kTileWords,
                                         to + (taps_ - 1 - tap) * kTileWords);
      }
    }
  }
}

void PaddedProduct::run(const Samples& samples, bool /*adds*/) {
  if (transposed_ != nullptr && samples.first == 0) transpose_weights();
  pad(samples);
  product_.run(samples);
}

}  // namespace nn
