// Transposed convolutions, by the library's convolutions run the other way round: what is backward
// for those is forward here.
// Hides primitive descriptors.

#include <fmt/format.h>

#include "workloads/nn/deconvolution.h"
#include "workloads/nn/layer.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {
namespace {

using dnnl::memory;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

class DeconvolutionLayer final : public Layer {
 public:
  DeconvolutionLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        device_(planner.device()),
        kernels_(planner.kernels()),
        src_desc_(planner.value_desc(operation.src)),
        compute_(planner.compute_type(operation.name)),
        weights_dims_(
            planner.network().parameters()[static_cast<std::size_t>(operation.weights)].shape) {
    translated(described_deconvolution(operation, planner), [&] { plan_forward(planner); });
  }
  void plan_backward(Planner& planner) override {
    translated(described_deconvolution(operation_, planner), [&] { plan_gradients(planner); });
  }
  void bind(const Arena& arena) override;
  void forward(Mode /*mode*/, const Samples& samples) override { forward_.run(samples); }
  void backward(bool accumulate, const Samples& samples) override {
    const bool adds = accumulate || samples.first > 0;
    data_gradient_.run(samples);
    weights_gradient_.run(samples, target_.begin(adds));
    target_.finish(adds);
  }
  std::int64_t reorders_per_step() const override {
    return forward_.reorders() + data_gradient_.reorders() + weights_gradient_.reorders();
  }
  std::string implementation() const override { return forward_.implementation(); }

 private:
  /// Of the convolution that this one is the transpose of: from the destination to the source.
  memory::desc small(std::int64_t samples) const {
    memory::dims dims = src_desc_.dims();
    dims.front() = samples;
    return any_desc(dims, compute_);
  }
  memory::desc large(std::int64_t samples) const {
    return any_desc(batch_dims(samples, operation_.dst), compute_);
  }
  dnnl::convolution_forward::primitive_desc reverse_desc(std::int64_t samples) const {
    return {{dnnl::prop_kind::forward_training, kDirect, large(samples),
             any_desc(weights_dims_, compute_), small(samples), operation_.stride,
             operation_.padding.begin, operation_.padding.end},
            user_scratchpad(),
            device_.engine};
  }
  dnnl::convolution_backward_data::primitive_desc forward_desc(std::int64_t samples) const {
    return {{kDirect, large(samples), any_desc(weights_dims_, compute_), small(samples),
             operation_.stride, operation_.padding.begin, operation_.padding.end},
            user_scratchpad(),
            device_.engine,
            reverse_desc(samples)};
  }
  dnnl::convolution_backward_weights::primitive_desc weights_desc(std::int64_t samples) const {
    return {{kDirect, large(samples), any_desc(weights_dims_), small(samples), operation_.stride,
             operation_.padding.begin, operation_.padding.end},
            user_scratchpad(),
            device_.engine,
            reverse_desc(samples)};
  }
  void plan_forward(Planner& planner);
  void plan_gradients(Planner& planner);

  const Operation operation_;
  Device& device_;
  const Kernels& kernels_;
  const memory::desc src_desc_;
  memory::desc dst_desc_, weights_desc_;
  const memory::data_type compute_;
  const memory::dims weights_dims_;
  SlicedPrimitive forward_, data_gradient_, weights_gradient_;
  GradientTarget target_;
  ValuePlace src_place_, dst_place_, src_again_;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
};

void DeconvolutionLayer::plan_forward(Planner& planner) {
  const Slices& slices = planner.forward_slices();
  const auto first = forward_desc(slices.sizes().front());
  dst_desc_ = with_samples(retyped(first.diff_src_desc(), planner.value_type()), planner.batch());
  if (compute_ == memory::data_type::f32) {
    weights_desc_ = first.weights_desc();
  } else if (planner.training()) {
    weights_desc_ = weights_desc(planner.backward_slices().sizes().front()).diff_weights_desc();
  } else {
    weights_desc_ = plain_desc(weights_dims_);
  }
  planner.use_value(operation_.src, true);
  planner.define_value(dst_desc_);
  planner.set_parameter_desc(operation_.weights, weights_desc_);
  src_place_ = planner.value_place(operation_.src);
  dst_place_ = planner.value_place(planner.made());
  src_again_ = planner.value_again(operation_.src);
  forward_.plan(planner, slices, planner.forward_moment(),
                [this](std::int64_t samples) { return forward_desc(samples); },
                {{DNNL_ARG_DIFF_DST, src_desc_, extent_of(src_place_)},
                 {DNNL_ARG_WEIGHTS, weights_desc_, Extent::kWhole, false, operation_.weights},
                 {DNNL_ARG_DIFF_SRC, dst_desc_, extent_of(dst_place_), true}});
}

void DeconvolutionLayer::plan_gradients(Planner& planner) {
  const Slices& slices = planner.backward_slices();
  diff_dst_buffer_ = planner.incoming().front();
  weights_gradient_.plan(planner, slices, planner.backward_moment(),
                         [this](std::int64_t samples) { return weights_desc(samples); },
                         {{DNNL_ARG_SRC, dst_desc_},
                          {DNNL_ARG_DIFF_DST, src_desc_, extent_of(src_again_)},
                          {DNNL_ARG_DIFF_WEIGHTS, weights_desc_, Extent::kWhole, true}});
  target_.plan(planner, static_cast<std::int64_t>(weights_desc_.get_size()));
  data_gradient_.plan(planner, slices, planner.backward_moment(),
                      [this](std::int64_t samples) { return reverse_desc(samples); },
                      {{DNNL_ARG_SRC, dst_desc_},
                       {DNNL_ARG_WEIGHTS, weights_desc_, Extent::kWhole, false, operation_.weights},
                       {DNNL_ARG_DST, src_desc_, Extent::kPass, true}});
  diff_src_buffer_ = planner.contribute(operation_.src);
}

void DeconvolutionLayer::bind(const Arena& arena) {
  void* const weights = arena.parameters.weights(operation_.weights);
  void* const diff_dst = arena.at<void>(diff_dst_buffer_);
  forward_.bind(arena, device_,
                {arena.at<void>(src_place_.buffer), weights, arena.at<void>(dst_place_.buffer)});
  if (diff_dst_buffer_ < 0) return;
  target_.bind(arena, operation_.weights, kernels_);
  weights_gradient_.bind(arena, device_,
                         {diff_dst, arena.at<void>(src_again_.buffer), target_.begin(false)});
  data_gradient_.bind(arena, device_, {diff_dst, weights, arena.at<void>(diff_src_buffer_)});
}

}  // namespace

std::string described_deconvolution(const Operation& operation, const Planner& planner) {
  return fmt::format("transposed convolution {} ({} -> {} channels, kernel {}, batch {})",
                     operation.name, planner.network().shape(operation.src).channels,
                     operation.dst.channels, operation.kernel.front(), planner.batch());
}

std::unique_ptr<Layer> make_deconvolution(const Operation& operation, Planner& planner) {
  const bool is_last = &operation == &planner.network().operations().back();
  if (is_last) return make_narrow_deconvolution(operation, planner);
  return std::make_unique<DeconvolutionLayer>(operation, planner);
}

}  // namespace nn
