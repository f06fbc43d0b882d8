// Products of convolutions.
// Hides operands.
#include "workloads/nn/products/products.h"

#include <fmt/format.h>

namespace nn {

using dnnl::memory;

namespace {

/// Whether weights stand as own products of floats read and write them.
bool reads_tiles(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts) {
  return layouts.weights == tiled_weights_desc(problem.weights_dims());
}

}  // namespace

std::string described_convolution(const Operation& operation, const Planner& planner) {
  const bool is_transposed = operation.kind == OperationKind::kDeconvolution;
  return fmt::format("{}convolution {} ({} -> {} channels, kernel {}, batch {})",
                     is_transposed ? "transposed " : "", operation.name,
                     planner.network().shape(operation.src).channels, operation.dst.channels,
                     operation.kernel.front(), planner.batch());
}

bool is_widened(const ConvolutionProblem& problem, const memory::desc& src,
                const memory::desc& dst) {
  return problem.compute() == memory::data_type::f32 &&
         src.data_type() == memory::data_type::bf16 && WidenedValue::fits(src) &&
         WidenedValue::fits(dst);
}

void ForwardProduct::plan(Planner& planner, const ConvolutionProblem& problem,
                          const ConvolutionLayouts& layouts, const Slices& slices, int moment,
                          const ValuePlace& src, const ValuePlace& dst) {
  weights_ = problem.operation().weights;
  bias_ = problem.operation().bias;
  src_ = src;
  dst_ = dst;
  if (is_widened(problem, layouts.src, layouts.dst)) {
    return widened_.plan(planner, problem, layouts, slices, moment);
  }
  if (PointProduct::suits(problem, layouts, planner)) {
    return points_.plan(planner, problem, layouts, ConvolutionProduct::kForward, moment, src, dst);
  }
  if (reads_tiles(problem, layouts) &&
      StridedPoints::suits(problem, layouts.src, layouts.dst, planner)) {
    return strided_.plan(planner, problem, ConvolutionProduct::kForward, moment, src, dst);
  }
  if (reads_tiles(problem, layouts) && PartsProduct::suits(problem, ConvolutionProduct::kForward,
                                                           layouts.src, layouts.dst, planner)) {
    return parts_.plan(planner, problem, ConvolutionProduct::kForward, slices.sizes().back(),
                       moment, src, dst);
  }
  if (PaddedProduct::suits(problem, layouts.src, layouts.dst)) {
    return padded_.plan(planner, problem, ConvolutionProduct::kForward, slices, moment, layouts.src,
                        src, layouts.dst, dst);
  }
  std::vector<Operand> operands = {
      {problem.reads_source(), layouts.src, extent_of(src)},
      {DNNL_ARG_WEIGHTS, layouts.weights, Extent::kWhole, false, weights_},
      {problem.makes(), layouts.dst, extent_of(dst), true}};
  if (bias_ >= 0) {
    operands.push_back(
        {DNNL_ARG_BIAS, plain_desc({problem.operation().dst.channels}), Extent::kWhole});
  }
  product_.plan(
      planner, slices, moment, [&](std::int64_t samples) { return problem.forward(samples); },
      operands);
}

void ForwardProduct::bind(const Arena& arena, Device& device, const Kernels& kernels) {
  if (widened_.planned()) return widened_.bind(arena, device, kernels, src_, dst_);
  if (points_.planned()) return points_.bind(arena, device, kernels);
  if (strided_.planned()) return strided_.bind(arena, kernels);
  if (padded_.planned()) return padded_.bind(arena, device, kernels);
  if (parts_.planned()) return parts_.bind(arena, kernels);
  std::vector<void*> places = {arena.at<void>(src_.buffer), arena.parameters.weights(weights_),
                               arena.at<void>(dst_.buffer)};
  if (bias_ >= 0) places.push_back(arena.parameters.weights(bias_));
  product_.bind(arena, device, places);
}

void ForwardProduct::run(const Samples& samples) {
  if (widened_.planned()) return widened_.run(samples);
  if (points_.planned()) return points_.run(samples);
  if (strided_.planned()) return strided_.run(samples);
  if (padded_.planned()) return padded_.run(samples);
  if (parts_.planned()) return parts_.run(samples);
  product_.run(samples);
}

void BackwardProducts::plan(Planner& planner, const ConvolutionProblem& problem,
                            const ConvolutionLayouts& layouts, const Places& places) {
  weights_ = problem.operation().weights;
  places_ = places;
  const bool has_source = places.diff_src >= 0;
  if (is_widened(problem, layouts.src, layouts.dst)) {
    return widened_.plan(planner, problem, layouts, has_source);
  }
  plan_weights(planner, problem, layouts);
  if (!has_source) return;
  if (PointProduct::suits(problem, layouts, planner)) {
    return points_.plan(planner, problem, layouts, ConvolutionProduct::kSourceGradient,
                        planner.backward_moment(), places.diff_dst, {places.diff_src, false});
  }
  if (reads_tiles(problem, layouts) &&
      StridedPoints::suits(problem, layouts.src, layouts.dst, planner)) {
    return strided_.plan(planner, problem, ConvolutionProduct::kSourceGradient,
                         planner.backward_moment(), places.diff_dst, {places.diff_src, false});
  }
  if (GappedGradient::suits(problem, layouts.src, layouts.dst, planner)) {
    return gapped_.plan(planner, problem, layouts.dst, layouts.weights, places.diff_dst,
                        places.diff_src);
  }
  if (reads_tiles(problem, layouts) &&
      PartsProduct::suits(problem, ConvolutionProduct::kSourceGradient, layouts.src, layouts.dst,
                          planner)) {
    return parts_.plan(planner, problem, ConvolutionProduct::kSourceGradient,
                       planner.backward_slices().sizes().back(), planner.backward_moment(),
                       places.diff_dst, {places.diff_src, false});
  }
  if (PaddedProduct::suits(problem, layouts.src, layouts.dst)) {
    return padded_.plan(planner, problem, ConvolutionProduct::kSourceGradient,
                        planner.backward_slices(), planner.backward_moment(), layouts.dst,
                        places.diff_dst, layouts.src, {places.diff_src, false});
  }
  if (weights_product_.planned()) source_product_.share_scratch(weights_product_);
  source_product_.plan(planner, planner.backward_slices(), planner.backward_moment(),
                       [&](std::int64_t samples) { return problem.source_gradient(samples); },
                       {{problem.reads_gradient(), layouts.dst, extent_of(places.diff_dst)},
                        {DNNL_ARG_WEIGHTS, layouts.weights, Extent::kWhole, false, weights_},
                        {problem.returns(), layouts.src, Extent::kPass, true}});
}

void BackwardProducts::plan_weights(Planner& planner, const ConvolutionProblem& problem,
                                    const ConvolutionLayouts& layouts) {
  if (reads_tiles(problem, layouts) &&
      PartsGradient::suits(problem, layouts.src, layouts.dst, planner)) {
    return parts_weights_.plan(planner, problem, places_.src, places_.diff_dst);
  }
  own_.plan(planner, problem, {layouts.src, layouts.dst, layouts.weights},
            {places_.src, places_.diff_dst});
  if (own_.planned()) return;
  weights_product_.plan(planner, planner.backward_slices(), planner.backward_moment(),
                        [&](std::int64_t samples) { return problem.weights_gradient(samples); },
                        {{problem.reads_source(), layouts.src, extent_of(places_.src)},
                         {problem.reads_gradient(), layouts.dst, extent_of(places_.diff_dst)},
                         {DNNL_ARG_DIFF_WEIGHTS, layouts.weights, Extent::kWhole, true}});
  target_.plan(planner, static_cast<std::int64_t>(layouts.weights.get_size()));
}

void BackwardProducts::bind(const Arena& arena, Device& device, const Kernels& kernels) {
  if (widened_.planned()) {
    return widened_.bind(arena, device, kernels, places_.src, places_.diff_dst, places_.diff_src);
  }
  void* const diff_dst = arena.at<void>(places_.diff_dst.buffer);
  target_.bind(arena, weights_, kernels);
  if (parts_weights_.planned()) {
    parts_weights_.bind(arena, kernels);
  } else if (own_.planned()) {
    own_.bind(arena);
  } else {
    weights_product_.bind(arena, device,
                          {arena.at<void>(places_.src.buffer), diff_dst, target_.begin(false)});
  }
  if (points_.planned()) return points_.bind(arena, device, kernels);
  if (strided_.planned()) return strided_.bind(arena, kernels);
  if (gapped_.planned()) return gapped_.bind(arena, device, kernels);
  if (padded_.planned()) return padded_.bind(arena, device, kernels);
  if (parts_.planned()) return parts_.bind(arena, kernels);
  if (!source_product_.planned()) return;
  source_product_.bind(
      arena, device,
      {diff_dst, arena.parameters.weights(weights_), arena.at<void>(places_.diff_src)});
}

void BackwardProducts::run(bool accumulate, const Samples& samples) {
  if (widened_.planned()) return widened_.run(accumulate, samples);
  const bool adds = accumulate || samples.first > 0;
  if (points_.planned()) points_.run(samples);
  if (strided_.planned()) strided_.run(samples);
  if (gapped_.planned()) gapped_.run(samples);
  if (padded_.planned()) padded_.run(samples);
  if (parts_.planned()) parts_.run(samples);
  if (source_product_.planned()) source_product_.run(samples);
  if (parts_weights_.planned()) return parts_weights_.run(samples, target_.begin(false), adds);
  if (own_.planned()) return own_.run(samples, target_.begin(false), adds);
  weights_product_.run(samples, target_.begin(adds));
  target_.finish(adds);
}

std::vector<const SlicedPrimitive*> BackwardProducts::products() const {
  std::vector<const SlicedPrimitive*> all;
  for (const SlicedPrimitive* product :
       {&widened_.data_product(), &gapped_.product(), &padded_.product(), &source_product_,
        &widened_.weights_product(), &weights_product_}) {
    if (product->planned()) all.push_back(product);
  }
  return all;
}

std::int64_t BackwardProducts::reorders() const {
  std::int64_t sum = points_.reorders();
  for (const SlicedPrimitive* product : products()) sum += product->reorders();
  return sum;
}

}  // namespace nn
