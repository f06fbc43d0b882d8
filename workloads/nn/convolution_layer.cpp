// Convolutions by oneDNN, which chooses the layouts.
// Hides primitive descriptors, scratchpads and the reorders that a choice makes necessary.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "workloads/nn/layer.h"

namespace nn {
namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

/// A tensor in another layout than the one at hand; nothing where they agree.
class Converted {
 public:
  void plan(Planner& planner, const memory::desc& from, const memory::desc& to, int moment) {
    if (from == to) return;
    from_ = from;
    to_ = to;
    buffer_ =
        planner.temporary(static_cast<std::int64_t>(to.get_size()), moment, "converted layouts");
  }
  bool needed() const { return buffer_ >= 0; }
  /// The memory that the primitive uses for a tensor that stands at `data`.
  memory bind(const Arena& arena, const Device& device, const memory::desc& desc, float* data) {
    given_ = memory(desc, device.engine, data);
    if (!needed()) return given_;
    converted_ = memory(to_, device.engine, arena.at(buffer_));
    return converted_;
  }
  void convert_in(dnnl::stream& stream) {
    if (needed()) dnnl::reorder(given_, converted_).execute(stream, given_, converted_);
  }
  void convert_out(dnnl::stream& stream) {
    if (needed()) dnnl::reorder(converted_, given_).execute(stream, converted_, given_);
  }
  /// `from` and `to` swapped: the primitive writes `to_`, the world wants `from`.
  int count() const { return needed() ? 1 : 0; }

 private:
  memory::desc from_, to_;
  BufferId buffer_ = -1;
  memory given_, converted_;
};

/// oneDNN 2.6.3 gives wrong bf16 gradients of weights for strided convolutions of volumes, as the
/// test of the engine in bf16 shows on 3 x 3 x 4 points with stride 2.
bool has_wrong_bf16_gradient(const Operation& operation) {
  const auto& stride = operation.stride;
  return stride.size() == 3 &&
         std::any_of(stride.begin(), stride.end(), [](std::int64_t step) { return step > 1; });
}

class ConvolutionLayer final : public Layer {
 public:
  ConvolutionLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        device_(planner.device()),
        kernels_(planner.kernels()),
        src_desc_(planner.value_desc(operation.src)),
        compute_(has_wrong_bf16_gradient(operation) ? memory::data_type::f32
                                                    : planner.compute_type(operation.name)),
        first_(planner.network().operations()[static_cast<std::size_t>(operation.src)].kind ==
               OperationKind::kInput) {
    translated(what(planner), [&] { plan_forward(planner); });
  }

  void plan_backward(Planner& planner) override {
    translated(what(planner), [&] { plan_gradients(planner); });
  }
  void bind(const Arena& arena) override;
  void forward(Mode mode) override;
  void backward(bool accumulate) override;
  int reorders_per_step() const override {
    return src_.count() + dst_.count() + weights_.count() + src_again_.count() +
           diff_dst_data_.count() + diff_dst_weights_.count() + diff_src_.count() +
           weights_again_.count() + diff_weights_.count();
  }
  std::string implementation() const override { return forward_desc_->impl_info_str(); }

 private:
  std::string what(const Planner& planner) const {
    const SampleShape& src = planner.network().shape(operation_.src);
    return fmt::format("convolution {} ({} -> {} channels, kernel {}, batch {})", operation_.name,
                       src.channels, operation_.dst.channels, operation_.kernel.front(),
                       planner.batch());
  }
  void plan_forward(Planner& planner);
  memory::desc wanted_src() const;
  memory::desc updated_weights_desc(const Planner& planner, const ParameterSpec& weights);
  void make_weights_gradient_desc(const memory::dims& shape);
  void plan_gradients(Planner& planner);
  void plan_data_gradient(Planner& planner);
  void plan_weights_gradient(Planner& planner);
  void bind_backward(const Arena& arena);

  const Operation operation_;
  Device& device_;
  const Kernels& kernels_;
  memory::desc src_desc_, dst_desc_;
  const memory::data_type compute_;
  memory::desc weights_desc_;  ///< of the floats that are updated, and of their gradient
  bool first_;
  std::optional<dnnl::convolution_forward::primitive_desc> forward_desc_;
  std::optional<dnnl::convolution_backward_data::primitive_desc> data_desc_;
  std::optional<dnnl::convolution_backward_weights::primitive_desc> weights_gradient_desc_;
  Converted src_, dst_, weights_, src_again_, diff_dst_data_, diff_dst_weights_, diff_src_,
      weights_again_, diff_weights_;
  GradientTarget target_;
  BufferId src_buffer_ = -1, dst_buffer_ = -1, diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  BufferId scratch_forward_ = -1, scratch_data_ = -1, scratch_weights_ = -1;
  dnnl::primitive forward_, backward_data_, backward_weights_;
  Arguments forward_arguments_, data_arguments_, weights_arguments_;
  memory gradient_place_, gradient_beside_;
};

void ConvolutionLayer::plan_forward(Planner& planner) {
  const auto dst_dims = batch_dims(planner.batch(), operation_.dst);
  const ParameterSpec& weights =
      planner.network().parameters()[static_cast<std::size_t>(operation_.weights)];
  const auto kind =
      planner.training() ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const dnnl::convolution_forward::desc description(
      kind, dnnl::algorithm::convolution_direct, wanted_src(), any_desc(weights.shape, compute_),
      any_desc(dst_dims, compute_), operation_.stride, operation_.padding.begin,
      operation_.padding.end);
  forward_desc_.emplace(description, user_scratchpad(), device_.engine);
  dst_desc_ = retyped(forward_desc_->dst_desc(), planner.value_type());
  weights_desc_ = updated_weights_desc(planner, weights);
  const int now = planner.forward_moment();
  src_.plan(planner, src_desc_, forward_desc_->src_desc(), now);
  weights_.plan(planner, weights_desc_, forward_desc_->weights_desc(), now);
  dst_.plan(planner, dst_desc_, forward_desc_->dst_desc(), now);
  planner.use_value(operation_.src, true);
  planner.define_value(dst_desc_);
  planner.set_parameter_desc(operation_.weights, weights_desc_);
  scratch_forward_ = planner.temporary(
      static_cast<std::int64_t>(forward_desc_->scratchpad_desc().get_size()), now, "scratchpads");
  src_buffer_ = planner.value_buffer(operation_.src);
  dst_buffer_ = planner.value_buffer(planner.forward_moment());
}

/// The input comes as plain rows; between layers the library may choose.
memory::desc ConvolutionLayer::wanted_src() const {
  return first_ ? retyped(src_desc_, compute_) : any_desc(src_desc_.dims(), compute_);
}

/// As the forward pass reads them, or, where that reads no floats, as their gradient is written.
memory::desc ConvolutionLayer::updated_weights_desc(const Planner& planner,
                                                    const ParameterSpec& weights) {
  if (compute_ == memory::data_type::f32) return forward_desc_->weights_desc();
  if (!planner.training()) return plain_desc(weights.shape);
  make_weights_gradient_desc(weights.shape);
  return weights_gradient_desc_->diff_weights_desc();
}

void ConvolutionLayer::make_weights_gradient_desc(const memory::dims& shape) {
  const dnnl::convolution_backward_weights::desc description(
      dnnl::algorithm::convolution_direct, wanted_src(), any_desc(shape),
      any_desc(dst_desc_.dims(), compute_), operation_.stride, operation_.padding.begin,
      operation_.padding.end);
  weights_gradient_desc_.emplace(description, user_scratchpad(), device_.engine, *forward_desc_);
}

void ConvolutionLayer::plan_gradients(Planner& planner) {
  diff_dst_buffer_ = planner.incoming().front();
  plan_weights_gradient(planner);
  if (!first_) plan_data_gradient(planner);
}

void ConvolutionLayer::plan_data_gradient(Planner& planner) {
  const dnnl::convolution_backward_data::desc description(
      dnnl::algorithm::convolution_direct, any_desc(src_desc_.dims(), compute_),
      any_desc(weights_desc_.dims(), compute_), any_desc(dst_desc_.dims(), compute_),
      operation_.stride, operation_.padding.begin, operation_.padding.end);
  data_desc_.emplace(description, user_scratchpad(), device_.engine, *forward_desc_);
  const int now = planner.backward_moment();
  diff_dst_data_.plan(planner, dst_desc_, data_desc_->diff_dst_desc(), now);
  weights_again_.plan(planner, weights_desc_, data_desc_->weights_desc(), now);
  diff_src_.plan(planner, src_desc_, data_desc_->diff_src_desc(), now);
  scratch_data_ = planner.temporary(
      static_cast<std::int64_t>(data_desc_->scratchpad_desc().get_size()), now, "scratchpads");
  diff_src_buffer_ = planner.contribute(operation_.src);
}

void ConvolutionLayer::plan_weights_gradient(Planner& planner) {
  if (!weights_gradient_desc_) make_weights_gradient_desc(weights_desc_.dims());
  const int now = planner.backward_moment();
  src_again_.plan(planner, src_desc_, weights_gradient_desc_->src_desc(), now);
  diff_dst_weights_.plan(planner, dst_desc_, weights_gradient_desc_->diff_dst_desc(), now);
  diff_weights_.plan(planner, weights_desc_, weights_gradient_desc_->diff_weights_desc(), now);
  scratch_weights_ = planner.temporary(
      static_cast<std::int64_t>(weights_gradient_desc_->scratchpad_desc().get_size()), now,
      "scratchpads");
  target_.plan(planner, static_cast<std::int64_t>(weights_desc_.get_size()));
}

void ConvolutionLayer::bind(const Arena& arena) {
  forward_ = dnnl::convolution_forward(*forward_desc_);
  forward_arguments_ = {
      {DNNL_ARG_SRC, src_.bind(arena, device_, src_desc_, arena.at(src_buffer_))},
      {DNNL_ARG_WEIGHTS,
       weights_.bind(arena, device_, weights_desc_, arena.parameters.weights(operation_.weights))},
      {DNNL_ARG_DST, dst_.bind(arena, device_, dst_desc_, arena.at(dst_buffer_))},
      {DNNL_ARG_SCRATCHPAD,
       memory(forward_desc_->scratchpad_desc(), device_.engine, arena.at(scratch_forward_))}};
  if (diff_dst_buffer_ >= 0) bind_backward(arena);
}

void ConvolutionLayer::bind_backward(const Arena& arena) {
  float* const src = arena.at(src_buffer_);
  float* const diff_dst = arena.at(diff_dst_buffer_);
  target_.bind(arena, operation_.weights, kernels_);
  gradient_place_ = diff_weights_.bind(arena, device_, weights_desc_, target_.begin(false));
  gradient_beside_ = diff_weights_.needed() || target_.begin(true) == nullptr
                         ? gradient_place_
                         : memory(weights_desc_, device_.engine, target_.begin(true));
  backward_weights_ = dnnl::convolution_backward_weights(*weights_gradient_desc_);
  weights_arguments_ = {
      {DNNL_ARG_SRC, src_again_.bind(arena, device_, src_desc_, src)},
      {DNNL_ARG_DIFF_DST, diff_dst_weights_.bind(arena, device_, dst_desc_, diff_dst)},
      {DNNL_ARG_DIFF_WEIGHTS, gradient_place_},
      {DNNL_ARG_SCRATCHPAD, memory(weights_gradient_desc_->scratchpad_desc(), device_.engine,
                                   arena.at(scratch_weights_))}};
  if (!data_desc_) return;
  float* const weights = arena.parameters.weights(operation_.weights);
  backward_data_ = dnnl::convolution_backward_data(*data_desc_);
  data_arguments_ = {
      {DNNL_ARG_DIFF_DST, diff_dst_data_.bind(arena, device_, dst_desc_, diff_dst)},
      {DNNL_ARG_WEIGHTS, weights_again_.bind(arena, device_, weights_desc_, weights)},
      {DNNL_ARG_DIFF_SRC, diff_src_.bind(arena, device_, src_desc_, arena.at(diff_src_buffer_))},
      {DNNL_ARG_SCRATCHPAD,
       memory(data_desc_->scratchpad_desc(), device_.engine, arena.at(scratch_data_))}};
}

void ConvolutionLayer::forward(Mode /*mode*/) {
  src_.convert_in(device_.stream);
  weights_.convert_in(device_.stream);
  forward_.execute(device_.stream, forward_arguments_);
  dst_.convert_out(device_.stream);
}

void ConvolutionLayer::backward(bool accumulate) {
  if (data_desc_) {
    diff_dst_data_.convert_in(device_.stream);
    weights_again_.convert_in(device_.stream);
    backward_data_.execute(device_.stream, data_arguments_);
    diff_src_.convert_out(device_.stream);
  }
  src_again_.convert_in(device_.stream);
  diff_dst_weights_.convert_in(device_.stream);
  weights_arguments_[DNNL_ARG_DIFF_WEIGHTS] = accumulate ? gradient_beside_ : gradient_place_;
  backward_weights_.execute(device_.stream, weights_arguments_);
  if (diff_weights_.needed()) {
    memory target(weights_desc_, device_.engine, target_.begin(accumulate));
    dnnl::reorder(gradient_place_, target).execute(device_.stream, gradient_place_, target);
  }
  target_.finish(accumulate);
}

}  // namespace

std::unique_ptr<Layer> make_convolution(const Operation& operation, Planner& planner) {
  return std::make_unique<ConvolutionLayer>(operation, planner);
}

}  // namespace nn
