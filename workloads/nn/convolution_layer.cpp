// Convolutions and transposed ones by oneDNN, which chooses the layouts.
// Hides which of its products stand for which pass.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "workloads/nn/bias_gradient.h"
#include "workloads/nn/convolution_problem.h"
#include "workloads/nn/layer.h"
#include "workloads/nn/pointwise_weights.h"
#include "workloads/nn/sliced_primitive.h"
#include "workloads/nn/widened_convolution.h"

namespace nn {
namespace {

using dnnl::memory;

/// oneDNN 2.6.3 gives wrong bf16 gradients of weights for strided convolutions of volumes, as the
/// test of the engine in bf16 shows on 3 x 3 x 4 points with stride 2.
bool has_wrong_bf16_gradient(const Operation& operation) {
  const auto& stride = operation.stride;
  return stride.size() == 3 &&
         std::any_of(stride.begin(), stride.end(), [](std::int64_t step) { return step > 1; });
}

/// As the library is asked for the operation at hand.
ConvolutionProblem problem_of(const Operation& operation, const Planner& planner) {
  const Network& network = planner.network();
  ConvolutionProblem::Options options;
  options.compute = has_wrong_bf16_gradient(operation) ? memory::data_type::f32
                                                       : planner.compute_type(operation.name);
  options.training = planner.training();
  options.first =
      network.operations()[static_cast<std::size_t>(operation.src)].kind == OperationKind::kInput;
  options.transposed = operation.kind == OperationKind::kDeconvolution;
  return {operation, planner.value_desc(operation.src),
          network.parameters()[static_cast<std::size_t>(operation.weights)].shape, options,
          planner.device()};
}

class ConvolutionLayer final : public Layer {
 public:
  ConvolutionLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        device_(planner.device()),
        kernels_(planner.kernels()),
        problem_(problem_of(operation, planner)),
        src_desc_(planner.value_desc(operation.src)),
        training_(planner.training()) {
    translated(what(planner), [&] { plan_forward(planner); });
  }

  void plan_backward(Planner& planner) override {
    translated(what(planner), [&] { plan_gradients(planner); });
  }
  void bind(const Arena& arena) override;
  void forward(Mode /*mode*/, const Samples& samples) override { forward_.run(samples); }
  void remake(const Samples& samples) override { remake_.run(samples); }
  void backward(bool accumulate, const Samples& samples) override;
  std::int64_t reorders_per_step() const override;
  std::string implementation() const override;

 private:
  /// The product of a forward pass: widened, where that is planned, or as it is.
  struct Forward {
    SlicedPrimitive product;
    WidenedForward widened;
    bool planned() const { return product.planned() || widened.planned(); }
    void run(const Samples& samples) {
      if (widened.planned()) return widened.run(samples);
      product.run(samples);
    }
    const SlicedPrimitive& of_library() const {
      return widened.planned() ? widened.product() : product;
    }
  };
  std::string what(const Planner& planner) const {
    return fmt::format("{}convolution {} ({} -> {} channels, kernel {}, batch {})",
                       problem_.is_transposed() ? "transposed " : "", operation_.name,
                       src_desc_.dims()[1], operation_.dst.channels, operation_.kernel.front(),
                       planner.batch());
  }
  bool is_bf16() const { return problem_.compute() == memory::data_type::bf16; }
  ConvolutionLayouts layouts() const { return {src_desc_, dst_desc_, weights_desc_}; }
  /// Of the library's products, those that are planned.
  std::vector<const SlicedPrimitive*> products() const;
  memory::desc made_desc(std::int64_t samples) const;
  memory::desc updated_weights_desc(const Planner& planner) const;
  void plan_forward(Planner& planner);
  void plan_product(Planner& planner, Forward& forward, const Slices& slices, int moment,
                    const ValuePlace& src, const ValuePlace& dst);
  void bind_product(const Arena& arena, Forward& forward, const ValuePlace& src,
                    const ValuePlace& dst);
  void plan_gradients(Planner& planner);
  void plan_weights_gradient(Planner& planner);
  void bind_gradients(const Arena& arena);

  const Operation operation_;
  Device& device_;
  const Kernels& kernels_;
  ConvolutionProblem problem_;
  memory::desc src_desc_, dst_desc_;
  memory::desc weights_desc_;  ///< of the floats that are updated, and of their gradient
  const bool training_;
  bool is_widened_ = false;  ///< from bfloat16, piece by piece
  Forward forward_, remake_;
  SlicedPrimitive data_gradient_, weights_gradient_;
  PointwiseWeights pointwise_;  ///< in place of weights_gradient_, where planned
  WidenedBackward widened_;     ///< in place of both gradients, where planned
  GradientTarget target_;
  BiasGradient bias_gradient_;
  ValuePlace src_place_, dst_place_, src_again_, dst_again_;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
};

/// As the forward pass reads them, or, where that reads no floats, as their gradient is written.
memory::desc ConvolutionLayer::updated_weights_desc(const Planner& planner) const {
  using dnnl::query;
  if (!is_bf16()) {
    return problem_.forward(planner.forward_slices().sizes().front())
        .query_md(query::exec_arg_md, DNNL_ARG_WEIGHTS);
  }
  if (!training_) return plain_desc(problem_.weights_dims());
  return problem_.weights_gradient(planner.backward_slices().sizes().front())
      .query_md(query::exec_arg_md, DNNL_ARG_DIFF_WEIGHTS);
}

/// As the library has it, but where channels come side by side (in blocks, or last) and would leave
/// as plain planes: its slow way makes these, and what follows is slow on them, while a conversion
/// for each product is cheap.
memory::desc ConvolutionLayer::made_desc(std::int64_t samples) const {
  const memory::desc dst =
      problem_.forward(samples).query_md(dnnl::query::exec_arg_md, problem_.makes());
  const bool leaves_blocks = !problem_.is_first() && operation_.stride.size() == 2 &&
                             channel_layout(src_desc_).width > 1 && channel_layout(dst).width == 1;
  return leaves_blocks ? like(src_desc_, operation_.dst) : dst;
}

void ConvolutionLayer::plan_forward(Planner& planner) {
  const Slices& slices = planner.forward_slices();
  dst_desc_ = with_samples(retyped(made_desc(slices.sizes().front()), planner.value_type()),
                           planner.batch());
  is_widened_ = !is_bf16() && planner.value_type() == memory::data_type::bf16 &&
                WidenedValue::fits(src_desc_) && WidenedValue::fits(dst_desc_);
  if (is_widened_) problem_ = problem_.of_phases();
  weights_desc_ = updated_weights_desc(planner);
  planner.use_value(operation_.src, true);
  planner.define_value(dst_desc_);
  planner.set_parameter_desc(operation_.weights, weights_desc_);
  if (operation_.bias >= 0) {
    planner.set_parameter_desc(operation_.bias, plain_desc({operation_.dst.channels}));
  }
  src_place_ = planner.value_place(operation_.src);
  dst_place_ = planner.value_place(planner.made());
  src_again_ = planner.value_again(operation_.src);
  dst_again_ = planner.value_again(planner.made());
  plan_product(planner, forward_, slices, planner.forward_moment(), src_place_, dst_place_);
  if (!planner.remakes()) return;
  plan_product(planner, remake_, planner.remake_slices(), planner.remake_moment(), src_again_,
               dst_again_);
}

void ConvolutionLayer::plan_product(Planner& planner, Forward& forward, const Slices& slices,
                                    int moment, const ValuePlace& src, const ValuePlace& dst) {
  if (is_widened_) return forward.widened.plan(planner, problem_, layouts(), slices, moment);
  std::vector<Operand> operands = {
      {problem_.reads_source(), src_desc_, extent_of(src)},
      {DNNL_ARG_WEIGHTS, weights_desc_, Extent::kWhole, false, operation_.weights},
      {problem_.makes(), dst_desc_, extent_of(dst), true}};
  if (operation_.bias >= 0) {
    operands.push_back({DNNL_ARG_BIAS, plain_desc({operation_.dst.channels}), Extent::kWhole});
  }
  forward.product.plan(
      planner, slices, moment, [this](std::int64_t samples) { return problem_.forward(samples); },
      operands);
}

void ConvolutionLayer::plan_weights_gradient(Planner& planner) {
  if (is_bf16() && !problem_.is_transposed() &&
      PointwiseWeights::applies(operation_, {src_desc_, dst_desc_, weights_desc_}, planner)) {
    pointwise_.plan(planner, operation_, problem_.weights_dims()[1], src_again_);
    return;
  }
  weights_gradient_.plan(
      planner, planner.backward_slices(), planner.backward_moment(),
      [this](std::int64_t samples) { return problem_.weights_gradient(samples); },
      {{problem_.reads_source(), src_desc_, extent_of(src_again_)},
       {problem_.reads_gradient(), dst_desc_},
       {DNNL_ARG_DIFF_WEIGHTS, weights_desc_, Extent::kWhole, true}});
  target_.plan(planner, static_cast<std::int64_t>(weights_desc_.get_size()));
}

/// Winograd where a batch has tiles enough is for gradients alone: the bits of a forward pass are
/// the same in a batch of any size.
void ConvolutionLayer::plan_gradients(Planner& planner) {
  const Slices& slices = planner.backward_slices();
  if (planner.winograd()) problem_.allow_winograd_gradients(slices.sizes().front());
  diff_dst_buffer_ = planner.incoming().front();
  if (operation_.bias >= 0) bias_gradient_.plan(planner, operation_, dst_desc_);
  if (is_widened_) {
    widened_.plan(planner, problem_, layouts(), !problem_.is_first());
  } else {
    plan_weights_gradient(planner);
  }
  if (problem_.is_first()) return;
  if (!is_widened_) {
    if (weights_gradient_.planned()) data_gradient_.share_scratch(weights_gradient_);
    data_gradient_.plan(
        planner, slices, planner.backward_moment(),
        [this](std::int64_t samples) { return problem_.source_gradient(samples); },
        {{problem_.reads_gradient(), dst_desc_},
         {DNNL_ARG_WEIGHTS, weights_desc_, Extent::kWhole, false, operation_.weights},
         {problem_.returns(), src_desc_, Extent::kPass, true}});
  }
  diff_src_buffer_ = planner.contribute(operation_.src);
}

/// Forward, data gradient, weights gradient.
std::vector<const SlicedPrimitive*> ConvolutionLayer::products() const {
  std::vector<const SlicedPrimitive*> all = {&forward_.of_library(), &widened_.data_product(),
                                             &data_gradient_, &widened_.weights_product(),
                                             &weights_gradient_};
  if (remake_.planned()) all.push_back(&remake_.of_library());
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const SlicedPrimitive* product) { return !product->planned(); }),
            all.end());
  return all;
}

std::int64_t ConvolutionLayer::reorders_per_step() const {
  std::int64_t sum = 0;
  for (const SlicedPrimitive* product : products()) sum += product->reorders();
  return sum;
}

/// Each name once.
std::string ConvolutionLayer::implementation() const {
  std::vector<std::string> names;
  for (const SlicedPrimitive* product : products()) {
    const std::string name = product->implementation();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (pointwise_.planned()) names.emplace_back("own");
  return fmt::format("{}", fmt::join(names, ", "));
}

void ConvolutionLayer::bind_product(const Arena& arena, Forward& forward, const ValuePlace& src,
                                    const ValuePlace& dst) {
  if (!forward.planned()) return;
  if (is_widened_) return forward.widened.bind(arena, device_, kernels_, src, dst);
  std::vector<void*> places = {arena.at<void>(src.buffer),
                               arena.parameters.weights(operation_.weights),
                               arena.at<void>(dst.buffer)};
  if (operation_.bias >= 0) places.push_back(arena.parameters.weights(operation_.bias));
  forward.product.bind(arena, device_, places);
}

void ConvolutionLayer::bind(const Arena& arena) {
  bind_product(arena, forward_, src_place_, dst_place_);
  bind_product(arena, remake_, src_again_, dst_again_);
  if (diff_dst_buffer_ >= 0) bind_gradients(arena);
}

void ConvolutionLayer::bind_gradients(const Arena& arena) {
  if (operation_.bias >= 0) bias_gradient_.bind(arena, kernels_, diff_dst_buffer_);
  if (is_widened_) {
    return widened_.bind(arena, device_, kernels_, src_again_, {diff_dst_buffer_, false},
                         diff_src_buffer_);
  }
  void* const diff_dst = arena.at<void>(diff_dst_buffer_);
  target_.bind(arena, operation_.weights, kernels_);
  if (pointwise_.planned()) {
    pointwise_.bind(arena, diff_dst_buffer_);
  } else {
    weights_gradient_.bind(arena, device_,
                           {arena.at<void>(src_again_.buffer), diff_dst, target_.begin(false)});
  }
  if (problem_.is_first()) return;
  data_gradient_.bind(
      arena, device_,
      {diff_dst, arena.parameters.weights(operation_.weights), arena.at<void>(diff_src_buffer_)});
}

void ConvolutionLayer::backward(bool accumulate, const Samples& samples) {
  const bool adds = accumulate || samples.first > 0;
  if (operation_.bias >= 0) bias_gradient_.run(samples, adds);
  if (is_widened_) return widened_.run(accumulate, samples);
  if (data_gradient_.planned()) data_gradient_.run(samples);
  if (pointwise_.planned()) return pointwise_.run(samples, target_.begin(false), adds);
  weights_gradient_.run(samples, target_.begin(adds));
  target_.finish(adds);
}

}  // namespace

std::unique_ptr<Layer> make_deconvolution(const Operation& operation, Planner& planner) {
  const bool is_last = &operation == &planner.network().operations().back();
  if (is_last) return make_narrow_deconvolution(operation, planner);
  return std::make_unique<ConvolutionLayer>(operation, planner);
}

std::unique_ptr<Layer> make_convolution(const Operation& operation, Planner& planner) {
  return std::make_unique<ConvolutionLayer>(operation, planner);
}

}  // namespace nn
