// Convolutions and transposed convolutions, each product by the method chosen for it.
#include <algorithm>
#include <memory>

#include "workloads/nn/layers/bias_gradient.h"
#include "workloads/nn/products/convolution_products.h"
#include "workloads/nn/products/make_layers.h"
#include "workloads/nn/products/method_table.h"
#include "workloads/nn/products/stem_layer.h"
#include "workloads/nn/products/widened_convolution.h"

namespace nn {
namespace {

using dnnl::memory;

/// oneDNN 2.6.3 gives wrong bf16 weights gradients for strided convolutions of volumes, as the
/// engine's bf16 test shows on 3 x 3 x 4 voxels with stride 2.
bool has_wrong_bf16_gradient(const Operation& operation) {
  const auto& stride = operation.stride;
  return stride.size() == 3 &&
         std::any_of(stride.begin(), stride.end(), [](std::int64_t step) { return step > 1; });
}

/// The oneDNN problem of the planner's current operation.
ConvolutionProblem problem_of(const Operation& operation, const Planner& planner) {
  const Network& network = planner.network();
  ConvolutionProblem::Options options;
  options.compute = has_wrong_bf16_gradient(operation) ? memory::data_type::f32
                                                       : planner.compute_type(operation.name);
  options.training = planner.training();
  options.first =
      network.operations()[static_cast<std::size_t>(operation.src)].kind == OperationKind::kInput;
  options.transposed = operation.kind == OperationKind::kDeconvolution;
  const auto& weights = network.parameters()[static_cast<std::size_t>(operation.weights)].shape;
  return {operation, planner.value_desc(operation.src), in_groups(weights, operation.groups),
          options, planner.device()};
}

class ConvolutionLayer final : public Layer {
 public:
  ConvolutionLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        device_(planner.device()),
        kernels_(planner.kernels()),
        problem_(problem_of(operation, planner)),
        src_desc_(planner.value_desc(operation.src)) {
    translated(described_convolution(operation, planner), [&] { plan_forward(planner); });
  }

  void plan_backward(Planner& planner) override {
    translated(described_convolution(operation_, planner), [&] { plan_gradients(planner); });
  }
  void bind(const Arena& arena) override;
  void forward(Mode /*mode*/, const Samples& samples) override { forward_->run(samples, false); }
  void recompute(const Samples& samples) override { recompute_->run(samples, false); }
  void backward(bool accumulate, const Samples& samples) override;
  std::int64_t reorders_per_step() const override;
  std::string implementation() const override { return names_of(products(), chosen()); }
  std::vector<ProductMethod> methods() const override { return methods_; }
  bool uses_bf16x3() const override { return std::ranges::count(chosen(), Method::kBf16x3) > 0; }

 private:
  ConvolutionLayouts layouts() const { return {src_desc_, dst_desc_, weights_desc_}; }
  /// Forward, gradients, recomputation: those that exist.
  std::vector<const Product*> products() const;
  std::vector<Method> chosen() const;
  memory::desc made_desc(const Planner& planner, std::int64_t samples) const;
  void plan_forward(Planner& planner);
  void plan_gradients(Planner& planner);
  void list_methods(const Planner& planner);

  const Operation operation_;
  Device& device_;
  const Kernels& kernels_;
  ConvolutionProblem problem_;
  memory::desc src_desc_, dst_desc_;
  memory::desc weights_desc_;  ///< of the parameters, which are floats, and their gradient
  MethodChoice choice_;
  std::vector<ProductMethod> methods_;
  std::unique_ptr<Product> forward_, recompute_;
  BackwardProducts gradients_;
  BiasGradient bias_gradient_;
  BufferId diff_dst_buffer_ = -1;
};

/// The destination's layout. If oneDNN's products want channels last, all values have channels
/// last, as some are added to each other; except the first layer's destination if a max pooling
/// reads it, whose gradient oneDNN rounds at every addition when channels are last. Otherwise
/// oneDNN chooses, but if the source is blocked or has channels last and oneDNN would choose plain
/// planes, the source's layout is kept: plain planes are slow in oneDNN here and in the next
/// layers, while a conversion for each product is cheap.
memory::desc ConvolutionLayer::made_desc(const Planner& planner, std::int64_t samples) const {
  const bool is_pooled = problem_.is_first() && planner.network().feeds_max_pool(planner.made());
  if (planner.products().wants_channels_last() && !is_pooled) {
    return channels_last_desc(batch_dims(samples, operation_.dst), planner.value_type());
  }
  const memory::desc dst =
      problem_.forward(samples).query_md(dnnl::query::exec_arg_md, problem_.makes());
  // Kernels may have wider blocks than oneDNN on this CPU when tests emulate them.
  const bool widens_blocks = problem_.compute() == memory::data_type::f32 &&
                             planner.kernels().set >= base::InstructionSet::kAvx512 &&
                             operation_.stride.size() == 2 && channel_layout(dst).width == 8;
  if (widens_blocks) return {dims_of(dst), type_of(dst), memory::format_tag::nChw16c};
  const bool leaves_blocks = !problem_.is_first() && operation_.stride.size() == 2 &&
                             channel_layout(src_desc_).width > 1 && channel_layout(dst).width == 1;
  return leaves_blocks ? like(src_desc_, operation_.dst) : dst;
}

void ConvolutionLayer::plan_forward(Planner& planner) {
  const Slices& slices = planner.forward_slices();
  dst_desc_ = with_samples(
      retyped(made_desc(planner, slices.sizes().front()), planner.value_type()), planner.batch());
  if (!problem_.is_grouped() && WidenedForward::supports(problem_, layouts(), planner)) {
    problem_ = problem_.of_phases();
  }
  // Only gradients choose Winograd by the size of a batch: a forward pass has the same bits in a
  // batch of any size.
  if (planner.training() && planner.winograd()) {
    problem_.allow_winograd_gradients(planner.backward_slices().sizes().front());
  }
  ConvolutionLayouts wanted = layouts();
  choice_ = choose_methods(problem_, wanted, planner);
  weights_desc_ = wanted.weights;
  list_methods(planner);
  planner.use_value(operation_.src, true);
  planner.define_value(dst_desc_);
  // Plain weights of groups are plain weights.
  const auto& shape =
      planner.network().parameters()[static_cast<std::size_t>(operation_.weights)].shape;
  planner.set_parameter_desc(operation_.weights,
                             problem_.is_grouped() ? plain_desc(shape) : weights_desc_);
  if (operation_.bias >= 0) {
    planner.set_parameter_desc(operation_.bias, plain_desc({operation_.dst.channels}));
  }
  const ValueId src = operation_.src, dst = planner.made();
  forward_ = make_forward_product(planner, choice_.forward, problem_, layouts(), slices,
                                  planner.forward_moment(), planner.value_place(src),
                                  planner.value_place(dst));
  if (!planner.recomputes()) return;
  recompute_ = make_forward_product(planner, choice_.forward, problem_, layouts(),
                                    planner.recompute_slices(), planner.recompute_moment(),
                                    planner.recomputed_value(src), planner.recomputed_value(dst));
}

void ConvolutionLayer::list_methods(const Planner& planner) {
  const auto add = [&](ConvolutionProduct product, Method method) {
    ProductMethod of = {std::string(to_string(product)),
                        method_key(product, problem_),
                        std::string(to_string(method)),
                        {}};
    // This project's products of floats read tiled weights, whatever layout the others read.
    ConvolutionLayouts tiled = layouts();
    if (!problem_.is_grouped()) tiled.weights = tiled_weights_desc(problem_.weights_dims());
    const bool is_weights = product == ConvolutionProduct::kWeightsGradient;
    for (const Method one :
         permitted_methods(product, problem_, is_weights ? layouts() : tiled, planner)) {
      of.permitted.emplace_back(to_string(one));
    }
    methods_.push_back(std::move(of));
  };
  add(ConvolutionProduct::kForward, choice_.forward);
  if (!planner.training()) return;
  if (!problem_.is_first()) add(ConvolutionProduct::kSourceGradient, choice_.source_gradient);
  add(ConvolutionProduct::kWeightsGradient, choice_.weights_gradient);
}

void ConvolutionLayer::plan_gradients(Planner& planner) {
  diff_dst_buffer_ = planner.incoming().front();
  if (operation_.bias >= 0) bias_gradient_.plan(planner, operation_, dst_desc_);
  const BufferId diff_src = problem_.is_first() ? -1 : planner.contribute(operation_.src);
  gradients_ = {planner,
                choice_,
                problem_,
                layouts(),
                {planner.recomputed_value(operation_.src), {diff_dst_buffer_, false}, diff_src}};
}

std::vector<const Product*> ConvolutionLayer::products() const {
  std::vector<const Product*> all = gradients_.products();
  all.insert(all.begin(), forward_.get());
  if (recompute_) all.push_back(recompute_.get());
  return all;
}

std::vector<Method> ConvolutionLayer::chosen() const {
  std::vector<Method> all = {choice_.forward};
  if (diff_dst_buffer_ < 0) return all;
  if (!problem_.is_first()) all.push_back(choice_.source_gradient);
  all.push_back(choice_.weights_gradient);
  return all;
}

std::int64_t ConvolutionLayer::reorders_per_step() const {
  std::int64_t sum = 0;
  for (const Product* product : products()) sum += product->reorders();
  return sum;
}

void ConvolutionLayer::bind(const Arena& arena) {
  forward_->bind(arena, device_, kernels_);
  if (recompute_) recompute_->bind(arena, device_, kernels_);
  if (diff_dst_buffer_ < 0) return;
  if (operation_.bias >= 0) bias_gradient_.bind(arena, kernels_, diff_dst_buffer_);
  gradients_.bind(arena, device_, kernels_);
}

void ConvolutionLayer::backward(bool accumulate, const Samples& samples) {
  if (operation_.bias >= 0) bias_gradient_.run(samples, accumulate || samples.first > 0);
  gradients_.run(accumulate, samples);
}

}  // namespace

std::unique_ptr<Layer> make_convolution(const Operation& operation, Planner& planner) {
  switch (layer_method(operation, planner)) {
    case Method::kStem:
      return make_stem(operation, planner);
    case Method::kNarrow:
      return make_narrow(operation, planner);
    case Method::kDepthwise:
      return make_depthwise(operation, planner);
    default:
      return std::make_unique<ConvolutionLayer>(operation, planner);
  }
}

}  // namespace nn
