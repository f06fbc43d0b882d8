// Fully connected layers after pixel layers, as matrix products: a sample has the same bits in a
// batch of any size.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "workloads/nn/products/make_layers.h"

namespace nn {
namespace {

using Matrix = VectorGemm::Matrix<const float>;

/// Splits [0, count) into one part per thread, multiples of `grain` except the last, and calls
/// work(first, count) for each. Uses fewer threads if the `products` (multiply-adds) are too few
/// for all.
template <class Work>
void share(std::int64_t count, std::int64_t grain, std::int64_t products, int threads,
           const Work& work) {
  constexpr std::int64_t kWorthAThread = 1 << 15;
  const std::int64_t grains = base::ceil_div(count, grain);
  const std::int64_t parts =
      std::clamp<std::int64_t>(std::min(products / kWorthAThread, grains), 1, threads);
  const auto team = static_cast<int>(parts);
#pragma omp parallel for schedule(static) num_threads(team)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = grains * part / parts * grain;
    const std::int64_t end = std::min(count, grains * (part + 1) / parts * grain);
    work(first, end - first);
  }
}

/// Granularity at which threads share outputs, and channels.
constexpr std::int64_t kGrain = 4, kColumnGrain = 64;

/// Weights [in, out] in memory as [out][in].
dnnl::memory::desc outputs_major(const std::vector<std::int64_t>& shape) {
  return {shape, dnnl::memory::data_type::f32, dnnl::memory::dims{1, shape[0]}};
}

class DenseLayer final : public Layer {
 public:
  DenseLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode, const Samples& samples) override;
  void backward(bool accumulate, const Samples& samples) override;
  std::string implementation() const override { return "dense"; }

 private:
  Matrix source(const float* src) const { return {src, src_layout_.sample_stride}; }
  std::int64_t products() const { return batch_ * in_ * out_; }
  void backward_weights(bool accumulate);
  void backward_bias(bool accumulate);
  void backward_data();

  const Operation operation_;
  const Kernels& kernels_;
  const int threads_;
  const std::int64_t batch_, in_, out_;
  const ChannelLayout src_layout_;  ///< of one pixel, whose channels are contiguous
  GradientTarget weights_target_, bias_target_;
  BufferId src_buffer_ = -1, src_again_buffer_ = -1, dst_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  std::int64_t diff_src_floats_ = 0, weights_floats_ = 0;
  const float* src_forward_ = nullptr;
  const float* src_backward_ = nullptr;
  float* dst_ = nullptr;
  const float* diff_dst_ = nullptr;
  float* diff_src_ = nullptr;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
};

DenseLayer::DenseLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels()),
      threads_(planner.threads()),
      batch_(planner.batch()),
      in_(planner.network().shape(operation.src).channels),
      out_(operation.dst.channels),
      src_layout_(channel_layout(planner.value_desc(operation.src))) {
  if (src_layout_.rows != 1 || src_layout_.block_stride != src_layout_.width ||
      src_layout_.sample_stride < in_) {
    throw base::ShapeError(operation.name + ": its source is not a row of channels a sample");
  }
  planner.use_value(operation.src, true);
  planner.define_value(plain_desc(batch_dims(batch_, operation.dst)));
  const auto& parameters = planner.network().parameters();
  const auto& shape = parameters[static_cast<std::size_t>(operation.weights)].shape;
  planner.set_parameter_desc(operation.weights,
                             operation.inputs_first ? outputs_major(shape) : plain_desc(shape));
  if (operation.bias >= 0) planner.set_parameter_desc(operation.bias, plain_desc({out_}));
  src_buffer_ = planner.value_place(operation.src).buffer;
  src_again_buffer_ = planner.recomputed_value(operation.src).buffer;
  dst_buffer_ = planner.value_place(planner.made()).buffer;
}

void DenseLayer::plan_backward(Planner& planner) {
  diff_dst_buffer_ = planner.incoming().front();
  const auto& specs = planner.network().parameters();
  weights_floats_ = specs[static_cast<std::size_t>(operation_.weights)].count();
  weights_target_.plan(planner, weights_floats_ * 4);
  if (operation_.bias >= 0) bias_target_.plan(planner, out_ * 4);
  if (!planner.network().has_gradient(operation_.src)) return;
  diff_src_buffer_ = planner.contribute(operation_.src);
  diff_src_floats_ = static_cast<std::int64_t>(planner.value_desc(operation_.src).get_size()) / 4;
}

void DenseLayer::bind(const Arena& arena) {
  src_forward_ = arena.at(src_buffer_);
  src_backward_ = arena.at(src_again_buffer_);
  dst_ = arena.at(dst_buffer_);
  diff_dst_ = arena.at(diff_dst_buffer_);
  diff_src_ = arena.at(diff_src_buffer_);
  weights_ = arena.parameters.weights(operation_.weights);
  weights_target_.bind(arena, operation_.weights, kernels_);
  if (operation_.bias < 0) return;
  bias_ = arena.parameters.weights(operation_.bias);
  bias_target_.bind(arena, operation_.bias, kernels_);
}

/// Takes all samples at once, as the pass plan arranges (PassOptions::takes_all).
void DenseLayer::forward(Mode /*mode*/, const Samples& /*samples*/) {
  share(out_, kGrain, products(), threads_, [&](std::int64_t first, std::int64_t count) {
    kernels_.vector_gemm.dots({batch_, count, in_}, source(src_forward_),
                              {weights_ + first * in_, in_}, {dst_ + first, out_});
  });
  if (bias_ == nullptr) return;
  for (std::int64_t row = 0; row < batch_; ++row) {
    kernels_.f32.accumulate(dst_ + row * out_, bias_, out_);
  }
}

void DenseLayer::backward_bias(bool accumulate) {
  std::vector<double> sums(static_cast<std::size_t>(out_), 0.0);
  for (std::int64_t row = 0; row < batch_; ++row) {
    for (std::int64_t o = 0; o < out_; ++o) {
      sums[static_cast<std::size_t>(o)] += static_cast<double>(diff_dst_[row * out_ + o]);
    }
  }
  float* const bias = bias_target_.begin(accumulate);
  std::transform(sums.begin(), sums.end(), bias,
                 [](double sum) { return static_cast<float>(sum); });
  bias_target_.finish(accumulate);
}

void DenseLayer::backward_weights(bool accumulate) {
  float* const gradient = weights_target_.begin(accumulate);
  share(out_, kGrain, products(), threads_, [&](std::int64_t first, std::int64_t count) {
    kernels_.vector_gemm.combine({count, in_, batch_}, {diff_dst_ + first, 1}, out_,
                                 source(src_backward_), {gradient + first * in_, in_});
  });
  weights_target_.finish(accumulate);
}

void DenseLayer::backward_data() {
  if (src_layout_.padded) {
    std::memset(diff_src_, 0, static_cast<std::size_t>(diff_src_floats_) * sizeof(float));
  }
  share(in_, kColumnGrain, products(), threads_, [&](std::int64_t first, std::int64_t count) {
    kernels_.vector_gemm.combine({batch_, count, out_}, {diff_dst_, out_}, 1,
                                 {weights_ + first, in_},
                                 {diff_src_ + first, src_layout_.sample_stride});
  });
}

void DenseLayer::backward(bool accumulate, const Samples& /*samples*/) {
  backward_weights(accumulate);
  if (bias_ != nullptr) backward_bias(accumulate);
  if (diff_src_ != nullptr) backward_data();
}

}  // namespace

std::unique_ptr<Layer> make_dense(const Operation& operation, Planner& planner) {
  return std::make_unique<DenseLayer>(operation, planner);
}

}  // namespace nn
