// Products of a convolution by oneDNN, on values as they are stored.
#include "workloads/nn/products/library_product.h"

namespace nn {

LibraryProduct::LibraryProduct(Planner& planner, ConvolutionProduct product,
                               const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                               const Slices& slices, int moment, const ValuePlace& src,
                               const ValuePlace& dst, const SlicedPrimitive* scratch_of)
    : product_(product), weights_(problem.operation().weights), src_(src), dst_(dst) {
  if (scratch_of != nullptr) primitive_.share_scratch(*scratch_of);
  if (product == ConvolutionProduct::kForward) {
    plan_forward(planner, problem, layouts, slices, moment);
    return;
  }
  primitive_.plan(planner, slices, moment,
                  [&](std::int64_t samples) { return problem.source_gradient(samples); },
                  {{problem.reads_gradient(), layouts.dst, extent_of(dst)},
                   {DNNL_ARG_WEIGHTS, layouts.weights, Extent::kWhole, false, weights_},
                   {problem.returns(), layouts.src, Extent::kPass, true}});
}

void LibraryProduct::plan_forward(Planner& planner, const ConvolutionProblem& problem,
                                  const ConvolutionLayouts& layouts, const Slices& slices,
                                  int moment) {
  bias_ = problem.operation().bias;
  std::vector<Operand> operands = {
      {problem.reads_source(), layouts.src, extent_of(src_)},
      {DNNL_ARG_WEIGHTS, layouts.weights, Extent::kWhole, false, weights_},
      {problem.makes(), layouts.dst, extent_of(dst_), true}};
  if (bias_ >= 0) {
    operands.push_back(
        {DNNL_ARG_BIAS, plain_desc({problem.operation().dst.channels}), Extent::kWhole});
  }
  primitive_.plan(
      planner, slices, moment, [&](std::int64_t samples) { return problem.forward(samples); },
      operands);
}

void LibraryProduct::bind(const Arena& arena, Device& device, const Kernels& /*kernels*/) {
  void *const src = arena.at<void>(src_.buffer), *const dst = arena.at<void>(dst_.buffer);
  const bool is_forward = product_ == ConvolutionProduct::kForward;
  std::vector<void*> places = {is_forward ? src : dst, arena.parameters.weights(weights_),
                               is_forward ? dst : src};
  if (bias_ >= 0) places.push_back(arena.parameters.weights(bias_));
  primitive_.bind(arena, device, places);
}

void LibraryProduct::run(const Samples& samples, bool /*adds*/) { primitive_.run(samples); }

LibraryWeights::LibraryWeights(Planner& planner, const ConvolutionProblem& problem,
                               const ConvolutionLayouts& layouts, const ValuePlace& src,
                               const ValuePlace& diff_dst)
    : weights_(problem.operation().weights), src_(src), diff_dst_(diff_dst) {
  primitive_.plan(planner, planner.backward_slices(), planner.backward_moment(),
                  [&](std::int64_t samples) { return problem.weights_gradient(samples); },
                  {{problem.reads_source(), layouts.src, extent_of(src)},
                   {problem.reads_gradient(), layouts.dst, extent_of(diff_dst)},
                   {DNNL_ARG_DIFF_WEIGHTS, layouts.weights, Extent::kWhole, true}});
  target_.plan(planner, static_cast<std::int64_t>(layouts.weights.get_size()));
}

void LibraryWeights::bind(const Arena& arena, Device& device, const Kernels& kernels) {
  target_.bind(arena, weights_, kernels);
  primitive_.bind(
      arena, device,
      {arena.at<void>(src_.buffer), arena.at<void>(diff_dst_.buffer), target_.begin(false)});
}

void LibraryWeights::run(const Samples& samples, bool adds) {
  primitive_.run(samples, target_.begin(adds));
  target_.finish(adds);
}

}  // namespace nn
