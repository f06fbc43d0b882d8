// A vector, scaled, shifted and through a ReLU, at every pixel of an image.
#include <algorithm>
#include <vector>

#include "workloads/nn/layers/image_means.h"
#include "workloads/nn/layers/make_layers.h"

namespace nn {
namespace {

/// dst[c] = relu(weights[c] src[c] + bias[c]) at every pixel.
template <class T>
class SpreadLayer final : public Layer {
 public:
  SpreadLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        all_kernels_(planner.kernels()),
        dst_desc_(described(operation, planner)),
        images_(planner, dst_desc_) {
    planner.use_value(operation.src, true);
    planner.define_value(dst_desc_);
    const dnnl::memory::desc parameter = plain_desc(
        planner.network().parameters()[static_cast<std::size_t>(operation.weights)].shape);
    planner.set_parameter_desc(operation.weights, parameter);
    planner.set_parameter_desc(operation.bias, parameter);
    src_place_ = planner.value_place(operation.src);
    src_place_again_ = planner.recomputed_value(operation.src);
    dst_place_ = planner.value_place(planner.made());
  }

  void plan_backward(Planner& planner) override {
    const auto bytes = operation_.dst.channels * static_cast<std::int64_t>(sizeof(float));
    diff_dst_buffer_ = planner.incoming().front();
    weights_target_.plan(planner, bytes);
    bias_target_.plan(planner, bytes);
    diff_src_buffer_ = planner.contribute(operation_.src);
    images_.plan(planner, planner.backward_slices().sizes().back(), planner.backward_moment());
    sums_.resize(static_cast<std::size_t>(2 * channels()));
  }

  void bind(const Arena& arena) override {
    src_ = arena.at(src_place_.buffer);
    src_again_ = arena.at(src_place_again_.buffer);
    dst_ = arena.at<T>(dst_place_.buffer);
    diff_dst_ = arena.at<T>(diff_dst_buffer_);
    diff_src_ = arena.at(diff_src_buffer_);
    weights_ = arena.parameters.weights(operation_.weights);
    bias_ = arena.parameters.weights(operation_.bias);
    if (diff_dst_buffer_ < 0) return;
    images_.bind(arena);
    weights_target_.bind(arena, operation_.weights, all_kernels_);
    bias_target_.bind(arena, operation_.bias, all_kernels_);
  }

  void forward(Mode /*mode*/, const Samples& samples) override {
    images_.fill(dst_, dst_place_, samples, [&](std::int64_t sample, std::int64_t channel) {
      const float linear = value_of(src_, src_place_.row_of(sample, samples), channel);
      return linear < 0.0F ? 0.0F : linear;
    });
  }

  void backward(bool accumulate, const Samples& samples) override {
    double* const by_weights = sums_.data();
    double* const by_bias = by_weights + channels();
    std::fill(sums_.begin(), sums_.end(), 0.0);
    const auto points = static_cast<float>(images_.layout().rows);
    images_.find(
        diff_dst_, {}, samples, [&](std::int64_t sample, std::int64_t channel, float mean) {
          const std::int64_t row = src_place_again_.row_of(sample, samples);
          const bool passed = value_of(src_again_, row, channel) > 0.0F;
          const float gradient = passed ? mean * points : 0.0F;
          by_weights[channel] += static_cast<double>(gradient * at(src_again_, row, channel));
          by_bias[channel] += static_cast<double>(gradient);
          diff_src_[sample * channels() + channel] = gradient * weights_[channel];
        });
    const bool adds = accumulate || samples.first > 0;
    float* const weights_gradient = weights_target_.begin(adds);
    float* const bias_gradient = bias_target_.begin(adds);
    for (std::int64_t channel = 0; channel < channels(); ++channel) {
      weights_gradient[channel] = static_cast<float>(by_weights[channel]);
      bias_gradient[channel] = static_cast<float>(by_bias[channel]);
    }
    weights_target_.finish(adds);
    bias_target_.finish(adds);
  }

 private:
  static dnnl::memory::desc described(const Operation& operation, const Planner& planner) {
    constexpr std::int64_t kWidth = 16;
    const auto dims = batch_dims(planner.batch(), operation.dst);
    const bool is_blocked =
        operation.dst.channels % kWidth == 0 && !planner.products().wants_channels_last();
    return is_blocked
               ? dnnl::memory::desc(dims, planner.value_type(), dnnl::memory::format_tag::nChw16c)
               : channels_last_desc(dims, planner.value_type());
  }
  std::int64_t channels() const { return operation_.dst.channels; }
  float at(const float* src, std::int64_t row, std::int64_t channel) const {
    return src[row * channels() + channel];
  }
  float value_of(const float* src, std::int64_t row, std::int64_t channel) const {
    return weights_[channel] * at(src, row, channel) + bias_[channel];
  }

  const Operation operation_;
  const Kernels& all_kernels_;
  const dnnl::memory::desc dst_desc_;
  ImageMeans<T> images_;
  std::vector<double> sums_;  ///< gradients of weights, then of bias
  ValuePlace src_place_, src_place_again_, dst_place_;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  GradientTarget weights_target_, bias_target_;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  const float* src_ = nullptr;
  const float* src_again_ = nullptr;
  T* dst_ = nullptr;
  const T* diff_dst_ = nullptr;
  float* diff_src_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> make_spread(const Operation& operation, Planner& planner) {
  if (planner.value_type() == dnnl::memory::data_type::bf16) {
    return std::make_unique<SpreadLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<SpreadLayer<float>>(operation, planner);
}

}  // namespace nn
