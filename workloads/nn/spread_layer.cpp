// A vector, scaled, shifted and through a ReLU, at all points of an image.
// Hides layouts.
#include "workloads/nn/layer.h"

namespace nn {
namespace {

/// dst = relu(weights src + bias) of a vector, at all points.
template <class T>
class SpreadLayer final : public Layer {
 public:
  SpreadLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        kernels_(planner.kernels().on<T>()),
        all_kernels_(planner.kernels()) {
    const auto dims = batch_dims(planner.batch(), operation.dst);
    const bool is_blocked = operation.dst.channels % kWidth == 0 && !planner.wants_channels_last();
    const dnnl::memory::desc dst =
        is_blocked
            ? dnnl::memory::desc(dims, planner.value_type(), dnnl::memory::format_tag::nChw16c)
            : channels_last_desc(dims, planner.value_type());
    layout_ = channel_layout(dst);
    planner.use_value(operation.src, true);
    planner.define_value(dst);
    const dnnl::memory::desc parameter = plain_desc(
        planner.network().parameters()[static_cast<std::size_t>(operation.weights)].shape);
    planner.set_parameter_desc(operation.weights, parameter);
    planner.set_parameter_desc(operation.bias, parameter);
    src_place_ = planner.value_place(operation.src);
    src_place_again_ = planner.value_again(operation.src);
    dst_place_ = planner.value_place(planner.made());
  }

  void plan_backward(Planner& planner) override {
    const auto bytes = operation_.dst.channels * static_cast<std::int64_t>(sizeof(float));
    diff_dst_buffer_ = planner.incoming().front();
    weights_target_.plan(planner, bytes);
    bias_target_.plan(planner, bytes);
    diff_src_buffer_ = planner.contribute(operation_.src);
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
    weights_target_.bind(arena, operation_.weights, all_kernels_);
    bias_target_.bind(arena, operation_.bias, all_kernels_);
  }

  void forward(Mode /*mode*/, const Samples& samples) override {
    const std::int64_t end = samples.first + samples.count;
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t sample = samples.first; sample < end; ++sample) {
      for (std::int64_t block = 0; block < layout_.blocks; ++block) {
        const Column column = layout_.column(block);
        float value[kWidth] = {};
        for (int lane = 0; lane < column.width; ++lane) {
          const std::int64_t channel = block * layout_.width + lane;
          const float linear = value_of(src_, src_place_.row_of(sample, samples), channel);
          value[lane] = linear < 0.0F ? 0.0F : linear;
        }
        kernels_.fill_rows(dst_ + layout_.offset(dst_place_.row_of(sample, samples), block), column,
                           value);
      }
    }
  }

  void backward(bool accumulate, const Samples& samples) override {
    const bool adds = accumulate || samples.first > 0;
    float* const weights_gradient = weights_target_.begin(adds);
    float* const bias_gradient = bias_target_.begin(adds);
#pragma omp parallel for schedule(static)
    for (std::int64_t block = 0; block < layout_.blocks; ++block) {
      const Column column = layout_.column(block);
      double by_weights[kWidth] = {}, by_bias[kWidth] = {};
      for (std::int64_t i = 0; i < samples.count; ++i) {
        const std::int64_t sample = samples.first + i;
        const std::int64_t row = src_place_again_.row_of(sample, samples);
        float mean[kWidth];
        kernels_.row_mean(diff_dst_ + layout_.offset(sample, block), column, mean);
        for (int lane = 0; lane < column.width; ++lane) {
          const std::int64_t channel = block * layout_.width + lane;
          const bool passed = value_of(src_again_, row, channel) > 0.0F;
          const float gradient = passed ? mean[lane] * static_cast<float>(layout_.rows) : 0.0F;
          by_weights[lane] += static_cast<double>(gradient * at(src_again_, row, channel));
          by_bias[lane] += static_cast<double>(gradient);
          diff_src_[sample * operation_.dst.channels + channel] = gradient * weights_[channel];
        }
      }
      for (int lane = 0; lane < column.width; ++lane) {
        weights_gradient[block * layout_.width + lane] = static_cast<float>(by_weights[lane]);
        bias_gradient[block * layout_.width + lane] = static_cast<float>(by_bias[lane]);
      }
    }
    weights_target_.finish(adds);
    bias_target_.finish(adds);
  }

 private:
  static constexpr int kWidth = 16;
  float at(const float* src, std::int64_t row, std::int64_t channel) const {
    return src[row * operation_.dst.channels + channel];
  }
  float value_of(const float* src, std::int64_t row, std::int64_t channel) const {
    return weights_[channel] * at(src, row, channel) + bias_[channel];
  }

  const Operation operation_;
  const ColumnKernels<T>& kernels_;
  const Kernels& all_kernels_;
  ChannelLayout layout_;
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
