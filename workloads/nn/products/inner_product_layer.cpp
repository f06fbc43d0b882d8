// Fully connected layers of perceptrons by oneDNN's inner products, with an optional bias and ReLU.
#include <fmt/format.h>

#include <algorithm>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "workloads/nn/accumulation.h"
#include "workloads/nn/layers/row_sums.h"
#include "workloads/nn/products/inner_product_gradient.h"
#include "workloads/nn/products/make_layers.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {
namespace {

using dnnl::memory;

class InnerProductLayer final : public Layer {
 public:
  InnerProductLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override {
    translated(what(), [&] { plan_gradients(planner); });
  }
  void bind(const Arena& arena) override;
  void forward(Mode /*mode*/, const Samples& samples) override { forward_.run(samples); }
  void backward(bool accumulate, const Samples& samples) override;
  std::int64_t reorders_per_step() const override {
    return forward_.reorders() + data_gradient_.reorders() + weights_gradient_.reorders();
  }
  std::string implementation() const override;

 private:
  std::string what() const {
    return fmt::format("fully connected {} ({} -> {}, batch {})", operation_.name, in_, out_,
                       batch_);
  }
  memory::desc src_desc(memory::data_type type) const { return plain_desc({batch_, in_}, type); }
  memory::desc any_weights(memory::data_type type) const { return any_desc({out_, in_}, type); }
  memory::desc dst_desc(memory::data_type type) const { return plain_desc({batch_, out_}, type); }
  bool has_bias() const { return operation_.bias >= 0; }
  dnnl::inner_product_forward::primitive_desc forward_desc(const memory::desc& weights) const;
  dnnl::inner_product_backward_data::primitive_desc data_desc() const;
  dnnl::inner_product_backward_weights::primitive_desc weights_desc() const;
  void plan_forward(Planner& planner);
  void plan_gradients(Planner& planner);
  void plan_weights_gradient(Planner& planner);
  template <class T>
  void mask_and_sum(bool accumulate);

  const Operation operation_;
  Device& device_;
  const Kernels& kernels_;
  const std::int64_t batch_, in_, out_;
  /// Types of the source and its gradient, of the multiplied operands, of the destination, and of
  /// the gradient that products read: the destination's type, unless products multiply bfloat16.
  const memory::data_type value_, compute_, dst_type_, gradient_type_;
  const bool training_, has_data_gradient_;
  memory::desc weights_desc_;  ///< of the parameters, which are floats, and their gradient
  SlicedPrimitive forward_, data_gradient_, weights_gradient_;
  std::optional<InnerProductGradient> product_;  ///< replaces weights_gradient_ where it fits
  GradientTarget weights_target_, bias_target_;
  BufferId src_buffer_ = -1, dst_buffer_ = -1, diff_dst_buffer_ = -1, diff_src_buffer_ = -1,
           rounded_buffer_ = -1, sums_buffer_ = -1, scratch_buffer_ = -1;
  const void* dst_ = nullptr;
  void* diff_dst_ = nullptr;
  Bf16* rounded_ = nullptr;  ///< rounded diff_dst_; null if products read it as it is
  float* sums_ = nullptr;    ///< of rows, [pieces, out]
  const Bf16* src_ = nullptr;
  std::uint32_t* scratch_ = nullptr;  ///< of product_
};

/// The layout in which InnerProductGradient writes the weights gradient.
memory::desc rows_gradient_desc(std::int64_t out, std::int64_t in) {
  return {{out, in}, memory::data_type::f32, memory::format_tag::AB16b64a};
}

/// The network's last value is of floats, as a loss reads it.
memory::data_type dst_type(const Planner& planner) {
  const bool is_last =
      planner.made() + 1 == static_cast<ValueId>(planner.network().operations().size());
  return is_last ? memory::data_type::f32 : planner.value_type();
}

InnerProductLayer::InnerProductLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      device_(planner.device()),
      kernels_(planner.kernels()),
      batch_(planner.batch()),
      in_(planner.network().shape(operation.src).channels),
      out_(operation.dst.channels),
      value_(planner.value_type()),
      compute_(planner.compute_type(operation.name)),
      dst_type_(dst_type(planner)),
      gradient_type_(compute_ == memory::data_type::bf16 ? compute_ : dst_type_),
      training_(planner.training()),
      has_data_gradient_(planner.network().has_gradient(operation.src)) {
  translated(what(), [&] { plan_forward(planner); });
}

dnnl::inner_product_forward::primitive_desc InnerProductLayer::forward_desc(
    const memory::desc& weights) const {
  const auto kind =
      training_ ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  dnnl::primitive_attr attributes = user_scratchpad();
  if (operation_.relu) append_relu(attributes);
  // Products of floats give floats.
  const memory::data_type made = compute_ == memory::data_type::f32 ? compute_ : dst_type_;
  const memory::desc bias = has_bias() ? plain_desc({out_}) : memory::desc();
  return describe_forward<dnnl::inner_product_forward>(
      device_.engine, attributes, kind, src_desc(compute_), weights, bias, dst_desc(made));
}

dnnl::inner_product_backward_data::primitive_desc InnerProductLayer::data_desc() const {
  return describe_backward<dnnl::inner_product_backward_data>(
      device_.engine, forward_desc(any_weights(compute_)), src_desc(compute_),
      any_weights(compute_), dst_desc(compute_));
}

dnnl::inner_product_backward_weights::primitive_desc InnerProductLayer::weights_desc() const {
  return describe_backward<dnnl::inner_product_backward_weights>(
      device_.engine, forward_desc(any_weights(compute_)), src_desc(compute_),
      any_weights(memory::data_type::f32), dst_desc(compute_));
}

void InnerProductLayer::plan_forward(Planner& planner) {
  if (planner.value_desc(operation_.src) != src_desc(value_)) {
    throw base::ShapeError(operation_.name + ": its source is not plain rows");
  }
  memory::desc wanted = any_weights(compute_);
  if (!training_) {
    const bool as_wanted = compute_ == memory::data_type::f32 && planner.copies_weights();
    weights_desc_ = as_wanted ? forward_desc(wanted).weights_desc() : plain_desc({out_, in_});
  } else {
    // Weights have the layout of their gradient; products of floats read them in it, too. oneDNN's
    // preferred layout is another for one sample than for two.
    weights_desc_ =
        planner.copies_weights() ? weights_desc().diff_weights_desc() : plain_desc({out_, in_});
    if (compute_ == memory::data_type::f32) wanted = weights_desc_;
  }
  planner.use_value(operation_.src, true);
  planner.define_value(dst_desc(dst_type_));
  if (training_ && operation_.relu) planner.use_value(planner.made(), true);
  planner.set_parameter_desc(operation_.weights, weights_desc_);
  if (has_bias()) planner.set_parameter_desc(operation_.bias, plain_desc({out_}));
  src_buffer_ = planner.value_place(operation_.src).buffer;
  dst_buffer_ = planner.value_place(planner.made()).buffer;
  std::vector<Operand> operands = {
      {DNNL_ARG_SRC, src_desc(value_)},
      {DNNL_ARG_WEIGHTS, weights_desc_, Extent::kWhole, false, operation_.weights},
      {DNNL_ARG_DST, dst_desc(dst_type_), Extent::kPass, true}};
  if (has_bias()) {
    operands.push_back({DNNL_ARG_BIAS, plain_desc({out_}), Extent::kWhole, false, operation_.bias});
  }
  forward_.plan(
      planner, {batch_, 1}, planner.forward_moment(),
      [&](std::int64_t /*samples*/) { return forward_desc(wanted); }, operands);
}

void InnerProductLayer::plan_gradients(Planner& planner) {
  const int moment = planner.backward_moment();
  diff_dst_buffer_ = planner.incoming().front();
  if (dst_type_ != gradient_type_) {
    rounded_buffer_ = planner.temporary(batch_ * out_ * static_cast<std::int64_t>(sizeof(Bf16)),
                                        moment, "activation gradients");
  }
  plan_weights_gradient(planner);
  if (!product_) {
    weights_target_.plan(planner, static_cast<std::int64_t>(weights_desc_.get_size()));
  }
  if (has_bias()) {
    constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
    sums_buffer_ =
        planner.temporary(base::ceil_div(batch_, kSumRows) * out_ * kFloat, moment, "scratchpads");
    bias_target_.plan(planner, out_ * kFloat);
  }
  if (!has_data_gradient_) return;
  data_gradient_.plan(planner, {batch_, 1}, moment,
                      [this](std::int64_t /*samples*/) { return data_desc(); },
                      {{DNNL_ARG_DIFF_DST, dst_desc(gradient_type_)},
                       {DNNL_ARG_WEIGHTS, weights_desc_, Extent::kWhole, false, operation_.weights},
                       {DNNL_ARG_DIFF_SRC, src_desc(value_), Extent::kPass, true}});
  diff_src_buffer_ = planner.contribute(operation_.src);
}

void InnerProductLayer::plan_weights_gradient(Planner& planner) {
  const InnerProductGradient::Shape shape = {batch_, in_, out_};
  if (compute_ == memory::data_type::bf16 && weights_desc_ == rows_gradient_desc(out_, in_) &&
      InnerProductGradient::applies(shape, planner.threads(), kernels_)) {
    product_.emplace(shape, planner.threads(), kernels_);
    scratch_buffer_ =
        planner.temporary(product_->scratch_bytes(), planner.backward_moment(), "scratchpads");
    return;
  }
  weights_gradient_.plan(planner, {batch_, 1}, planner.backward_moment(),
                         [this](std::int64_t /*samples*/) { return weights_desc(); },
                         {{DNNL_ARG_SRC, src_desc(value_)},
                          {DNNL_ARG_DIFF_DST, dst_desc(gradient_type_)},
                          {DNNL_ARG_DIFF_WEIGHTS, weights_desc_, Extent::kWhole, true}});
}

std::string InnerProductLayer::implementation() const {
  return forward_.implementation() + (product_ ? ", pairs" : "");
}

void InnerProductLayer::bind(const Arena& arena) {
  void* const src = arena.at<void>(src_buffer_);
  void* const weights = arena.parameters.weights(operation_.weights);
  void* const dst = arena.at<void>(dst_buffer_);
  std::vector<void*> places = {src, weights, dst};
  if (has_bias()) places.push_back(arena.parameters.weights(operation_.bias));
  forward_.bind(arena, device_, places);
  if (diff_dst_buffer_ < 0) return;
  dst_ = dst;
  diff_dst_ = arena.at<void>(diff_dst_buffer_);
  rounded_ = arena.at<Bf16>(rounded_buffer_);
  sums_ = arena.at(sums_buffer_);
  weights_target_.bind(arena, operation_.weights, kernels_);
  if (has_bias()) bias_target_.bind(arena, operation_.bias, kernels_);
  void* const gradient = rounded_ != nullptr ? rounded_ : diff_dst_;
  src_ = static_cast<const Bf16*>(src);
  scratch_ = arena.at<std::uint32_t>(scratch_buffer_);
  if (!product_) {
    weights_gradient_.bind(arena, device_, {src, gradient, weights_target_.begin(false)});
  }
  if (!has_data_gradient_) return;
  data_gradient_.bind(arena, device_, {gradient, weights, arena.at<void>(diff_src_buffer_)});
}

/// Turns the gradient after the ReLU into the one before it, in place, and sums the bias's.
template <class T>
void InnerProductLayer::mask_and_sum(bool accumulate) {
  const FeatureKernels<T>& kernels = kernels_.features<T>();
  const T* const dst = operation_.relu ? static_cast<const T*>(dst_) : nullptr;
  T* const gradient = static_cast<T*>(diff_dst_);
  sum_over_rows(batch_, out_, sums_, bias_target_.begin(accumulate),
                [&](std::int64_t first, std::int64_t rows, float* sums) {
                  const std::int64_t at = first * out_;
                  kernels.mask_rows(dst == nullptr ? nullptr : dst + at, gradient + at,
                                    gradient + at, rows, out_, sums);
                });
  bias_target_.finish(accumulate);
}

void InnerProductLayer::backward(bool accumulate, const Samples& samples) {
  if (has_bias()) {  // only such layers have a ReLU
    if (dst_type_ == memory::data_type::f32) {
      mask_and_sum<float>(accumulate);
    } else {
      mask_and_sum<Bf16>(accumulate);
    }
  }
  if (rounded_ != nullptr) {
    round_all(kernels_, static_cast<const float*>(diff_dst_), rounded_, batch_ * out_);
  }
  if (data_gradient_.planned()) data_gradient_.run(samples);
  if (product_) {
    const Bf16* const gradient = rounded_ != nullptr ? rounded_ : static_cast<Bf16*>(diff_dst_);
    product_->run(src_, gradient, weights_target_.begin(false), accumulate, scratch_);
    return;
  }
  weights_gradient_.run(samples, weights_target_.begin(accumulate));
  weights_target_.finish(accumulate);
}

}  // namespace

std::unique_ptr<Layer> make_inner_product(const Operation& operation, Planner& planner) {
  return std::make_unique<InnerProductLayer>(operation, planner);
}

}  // namespace nn
