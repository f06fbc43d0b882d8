// Convolutions by oneDNN, which chooses the layouts.
// Hides primitive descriptors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "workloads/nn/bias_gradient.h"
#include "workloads/nn/layer.h"
#include "workloads/nn/pointwise_weights.h"
#include "workloads/nn/sliced_primitive.h"

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

/// Whether the library's Winograd gradients, which make 4 x 4 points at a time, beat its plain
/// ones: enough tiles to make up for the transformation of weights, and not too much of them beyond
/// the image. Both bounds were measured on AVX-512 with 32 to 512 channels and 3 to 112 points a
/// side.
bool favours_winograd(const Operation& operation, std::int64_t channels, std::int64_t samples) {
  constexpr std::int64_t kSide = 4, kLeastTiles = 64, kLeastChannels = 32;
  const std::vector<std::int64_t> three = {3, 3}, one = {1, 1};
  if (operation.kernel != three || operation.stride != one || operation.dilation != one) {
    return false;
  }
  if (std::min(channels, operation.dst.channels) < kLeastChannels) return false;
  std::int64_t tiles = samples;
  for (const std::int64_t extent : operation.dst.spatial) tiles *= (extent + kSide - 1) / kSide;
  const std::int64_t covered = tiles * kSide * kSide;
  return tiles >= kLeastTiles && 10 * covered <= 14 * samples * operation.dst.points();
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

class ConvolutionLayer final : public Layer {
 public:
  ConvolutionLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        device_(planner.device()),
        kernels_(planner.kernels()),
        src_desc_(planner.value_desc(operation.src)),
        compute_(has_wrong_bf16_gradient(operation) ? memory::data_type::f32
                                                    : planner.compute_type(operation.name)),
        weights_dims_(
            planner.network().parameters()[static_cast<std::size_t>(operation.weights)].shape),
        training_(planner.training()),
        first_(planner.network().operations()[static_cast<std::size_t>(operation.src)].kind ==
               OperationKind::kInput) {
    for (const std::int64_t apart : operation.dilation) skipped_.push_back(apart - 1);
    translated(what(planner), [&] { plan_forward(planner); });
  }

  void plan_backward(Planner& planner) override {
    translated(what(planner), [&] { plan_gradients(planner); });
  }
  void bind(const Arena& arena) override;
  void forward(Mode /*mode*/, const Samples& samples) override { forward_.run(samples); }
  void remake(const Samples& samples) override { remake_.run(samples); }
  void backward(bool accumulate, const Samples& samples) override;
  std::int64_t reorders_per_step() const override {
    return forward_.reorders() + remake_.reorders() + data_gradient_.reorders() +
           weights_gradient_.reorders();
  }
  std::string implementation() const override;

 private:
  std::string what(const Planner& planner) const {
    const SampleShape& src = planner.network().shape(operation_.src);
    return fmt::format("convolution {} ({} -> {} channels, kernel {}, batch {})", operation_.name,
                       src.channels, operation_.dst.channels, operation_.kernel.front(),
                       planner.batch());
  }
  memory::desc any_src(std::int64_t samples) const;
  memory::desc wanted_src(std::int64_t samples) const;
  memory::desc any_dst(std::int64_t samples) const {
    return any_desc(batch_dims(samples, operation_.dst), compute_);
  }
  dnnl::convolution_forward::primitive_desc forward_desc(std::int64_t samples) const;
  dnnl::convolution_backward_data::primitive_desc data_desc(std::int64_t samples) const;
  dnnl::convolution_backward_weights::primitive_desc weights_desc(std::int64_t samples) const;
  memory::desc made_desc(std::int64_t samples) const;
  memory::desc updated_weights_desc(const Planner& planner) const;
  void choose_gradients(const Planner& planner);
  void plan_weights_gradient(Planner& planner);
  void plan_forward(Planner& planner);
  void plan_product(Planner& planner, SlicedPrimitive& product, const Slices& slices, int moment,
                    const ValuePlace& src, const ValuePlace& dst);
  void plan_gradients(Planner& planner);

  const Operation operation_;
  Device& device_;
  const Kernels& kernels_;
  memory::desc src_desc_, dst_desc_;
  const memory::data_type compute_;
  const memory::dims weights_dims_;
  memory::desc weights_desc_;  ///< of the floats that are updated, and of their gradient
  memory::dims skipped_;       ///< points between two taps
  const bool training_, first_;
  dnnl::algorithm data_algorithm_ = dnnl::algorithm::convolution_direct;
  dnnl::algorithm weights_algorithm_ = dnnl::algorithm::convolution_direct;
  SlicedPrimitive forward_, remake_, data_gradient_, weights_gradient_;
  PointwiseWeights pointwise_;  ///< in place of weights_gradient_, where planned
  GradientTarget target_;
  BiasGradient bias_gradient_;
  ValuePlace src_place_, dst_place_, src_again_, dst_again_;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
};

memory::desc ConvolutionLayer::any_src(std::int64_t samples) const {
  memory::dims dims = src_desc_.dims();
  dims.front() = samples;
  return any_desc(dims, compute_);
}

/// The input comes as plain rows; between layers the library may choose.
memory::desc ConvolutionLayer::wanted_src(std::int64_t samples) const {
  return first_ ? with_samples(retyped(src_desc_, compute_), samples) : any_src(samples);
}

dnnl::convolution_forward::primitive_desc ConvolutionLayer::forward_desc(
    std::int64_t samples) const {
  const auto kind =
      training_ ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const memory::dims& begin = operation_.padding.begin;
  const memory::dims& end = operation_.padding.end;
  const memory::desc weights = any_desc(weights_dims_, compute_);
  const auto direct = dnnl::algorithm::convolution_direct;
  if (operation_.bias >= 0) {
    return {{kind, direct, wanted_src(samples), weights, plain_desc({operation_.dst.channels}),
             any_dst(samples), operation_.stride, skipped_, begin, end},
            user_scratchpad(),
            device_.engine};
  }
  return {{kind, direct, wanted_src(samples), weights, any_dst(samples), operation_.stride,
           skipped_, begin, end},
          user_scratchpad(),
          device_.engine};
}

dnnl::convolution_backward_data::primitive_desc ConvolutionLayer::data_desc(
    std::int64_t samples) const {
  return {{data_algorithm_, any_src(samples), any_desc(weights_dims_, compute_), any_dst(samples),
           operation_.stride, skipped_, operation_.padding.begin, operation_.padding.end},
          user_scratchpad(),
          device_.engine,
          forward_desc(samples)};
}

dnnl::convolution_backward_weights::primitive_desc ConvolutionLayer::weights_desc(
    std::int64_t samples) const {
  return {{weights_algorithm_, wanted_src(samples), any_desc(weights_dims_), any_dst(samples),
           operation_.stride, skipped_, operation_.padding.begin, operation_.padding.end},
          user_scratchpad(),
          device_.engine,
          forward_desc(samples)};
}

/// As the forward pass reads them, or, where that reads no floats, as their gradient is written.
memory::desc ConvolutionLayer::updated_weights_desc(const Planner& planner) const {
  if (compute_ == memory::data_type::f32) {
    return forward_desc(planner.forward_slices().sizes().front()).weights_desc();
  }
  if (!training_) return plain_desc(weights_dims_);
  return weights_desc(planner.backward_slices().sizes().front()).diff_weights_desc();
}

/// As the library has it, but where channels come side by side (in blocks, or last) and would leave
/// as plain planes: its slow way makes these, and what follows is slow on them, while a conversion
/// for each product is cheap.
memory::desc ConvolutionLayer::made_desc(std::int64_t samples) const {
  const memory::desc dst = forward_desc(samples).dst_desc();
  const bool leaves_blocks = !first_ && operation_.stride.size() == 2 &&
                             channel_layout(src_desc_).width > 1 && channel_layout(dst).width == 1;
  return leaves_blocks ? like(src_desc_, operation_.dst) : dst;
}

void ConvolutionLayer::plan_forward(Planner& planner) {
  const Slices& slices = planner.forward_slices();
  dst_desc_ = with_samples(retyped(made_desc(slices.sizes().front()), planner.value_type()),
                           planner.batch());
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

void ConvolutionLayer::plan_product(Planner& planner, SlicedPrimitive& product,
                                    const Slices& slices, int moment, const ValuePlace& src,
                                    const ValuePlace& dst) {
  std::vector<Operand> operands = {
      {DNNL_ARG_SRC, src_desc_, extent_of(src)},
      {DNNL_ARG_WEIGHTS, weights_desc_, Extent::kWhole, false, operation_.weights},
      {DNNL_ARG_DST, dst_desc_, extent_of(dst), true}};
  if (operation_.bias >= 0) {
    operands.push_back({DNNL_ARG_BIAS, plain_desc({operation_.dst.channels}), Extent::kWhole});
  }
  product.plan(
      planner, slices, moment, [this](std::int64_t samples) { return forward_desc(samples); },
      operands);
}

/// The forward pass stays with plain sums: their bits are the same in a batch of any size.
void ConvolutionLayer::choose_gradients(const Planner& planner) {
  const std::int64_t samples = planner.backward_slices().sizes().front();
  const std::int64_t channels = planner.network().shape(operation_.src).channels;
  if (!planner.winograd_gradients() || compute_ != memory::data_type::f32) return;
  if (!favours_winograd(operation_, channels, samples)) return;
  const auto choose = [&](dnnl::algorithm& algorithm, const auto& describe) {
    algorithm = dnnl::algorithm::convolution_winograd;
    if (!exists(describe)) algorithm = dnnl::algorithm::convolution_direct;
  };
  choose(weights_algorithm_, [&] { return weights_desc(samples); });
  if (!first_) choose(data_algorithm_, [&] { return data_desc(samples); });
}

void ConvolutionLayer::plan_weights_gradient(Planner& planner) {
  const bool is_bf16 = compute_ == memory::data_type::bf16;
  if (is_bf16 &&
      PointwiseWeights::applies(operation_, {src_desc_, dst_desc_, weights_desc_}, planner)) {
    pointwise_.plan(planner, operation_, weights_dims_[1], src_again_);
    return;
  }
  weights_gradient_.plan(planner, planner.backward_slices(), planner.backward_moment(),
                         [this](std::int64_t samples) { return weights_desc(samples); },
                         {{DNNL_ARG_SRC, src_desc_, extent_of(src_again_)},
                          {DNNL_ARG_DIFF_DST, dst_desc_},
                          {DNNL_ARG_DIFF_WEIGHTS, weights_desc_, Extent::kWhole, true}});
  target_.plan(planner, static_cast<std::int64_t>(weights_desc_.get_size()));
}

void ConvolutionLayer::plan_gradients(Planner& planner) {
  choose_gradients(planner);
  const Slices& slices = planner.backward_slices();
  diff_dst_buffer_ = planner.incoming().front();
  plan_weights_gradient(planner);
  if (operation_.bias >= 0) bias_gradient_.plan(planner, operation_, dst_desc_);
  if (first_) return;
  data_gradient_.plan(planner, slices, planner.backward_moment(),
                      [this](std::int64_t samples) { return data_desc(samples); },
                      {{DNNL_ARG_DIFF_DST, dst_desc_},
                       {DNNL_ARG_WEIGHTS, weights_desc_, Extent::kWhole, false, operation_.weights},
                       {DNNL_ARG_DIFF_SRC, src_desc_, Extent::kPass, true}});
  diff_src_buffer_ = planner.contribute(operation_.src);
}

/// Forward, data gradient, weights gradient; each name once.
std::string ConvolutionLayer::implementation() const {
  std::vector<std::string> names = {forward_.implementation()};
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  if (data_gradient_.planned()) add(data_gradient_.implementation());
  if (weights_gradient_.planned()) add(weights_gradient_.implementation());
  if (pointwise_.planned()) add("own");
  return fmt::format("{}", fmt::join(names, ", "));
}

void ConvolutionLayer::bind(const Arena& arena) {
  void* const src = arena.at<void>(src_again_.buffer);
  void* const weights = arena.parameters.weights(operation_.weights);
  void* const diff_dst = arena.at<void>(diff_dst_buffer_);
  std::vector<void*> places = {arena.at<void>(src_place_.buffer), weights,
                               arena.at<void>(dst_place_.buffer)};
  std::vector<void*> again = {src, weights, arena.at<void>(dst_again_.buffer)};
  if (operation_.bias >= 0) {
    for (auto* const operands : {&places, &again}) {
      operands->push_back(arena.parameters.weights(operation_.bias));
    }
  }
  forward_.bind(arena, device_, places);
  if (remake_.planned()) remake_.bind(arena, device_, again);
  if (diff_dst_buffer_ < 0) return;
  if (operation_.bias >= 0) bias_gradient_.bind(arena, kernels_, diff_dst_buffer_);
  target_.bind(arena, operation_.weights, kernels_);
  if (pointwise_.planned()) {
    pointwise_.bind(arena, diff_dst_buffer_);
  } else {
    weights_gradient_.bind(arena, device_, {src, diff_dst, target_.begin(false)});
  }
  if (first_) return;
  data_gradient_.bind(arena, device_, {diff_dst, weights, arena.at<void>(diff_src_buffer_)});
}

void ConvolutionLayer::backward(bool accumulate, const Samples& samples) {
  const bool adds = accumulate || samples.first > 0;
  if (operation_.bias >= 0) bias_gradient_.run(samples, adds);
  if (data_gradient_.planned()) data_gradient_.run(samples);
  if (pointwise_.planned()) return pointwise_.run(samples, target_.begin(false), adds);
  weights_gradient_.run(samples, target_.begin(adds));
  target_.finish(adds);
}

}  // namespace

std::unique_ptr<Layer> make_convolution(const Operation& operation, Planner& planner) {
  return std::make_unique<ConvolutionLayer>(operation, planner);
}

}  // namespace nn
