// A bias and a ReLU by themselves, in plain loops: where ranks add up what precedes them, or after
// a convolution.
#include <algorithm>
#include <type_traits>

#include "runner/base/error.h"
#include "workloads/nn/layers/bias_gradient.h"
#include "workloads/nn/layers/make_layers.h"

namespace nn {
namespace {

constexpr int kMostLanes = 16;

/// `gradient` where `made` is above 0, else 0. Without branches, so that loops over lanes become
/// vectors.
float passed(float made, float gradient) { return made > 0.0F ? gradient : 0.0F; }
Bf16 passed(Bf16 made, Bf16 gradient) {
  constexpr std::uint16_t kInfinity = 0x7f80;  // NaN is above it, negative numbers are, too
  const bool is_above = made.bits - 1U < kInfinity;
  return {static_cast<std::uint16_t>(is_above ? gradient.bits : 0)};
}

/// dst = relu?(src + bias?)
template <class T>
class BiasedLayer final : public Layer {
 public:
  BiasedLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        kernels_(planner.kernels()),
        src_desc_(planner.value_desc(operation.src)),
        src_layout_(channel_layout(src_desc_)) {
    const dnnl::memory::desc dst = made_desc(planner);
    dst_layout_ = channel_layout(dst);
    planner.use_value(operation.src, false);
    planner.define_value(dst);
    if (planner.training() && operation.relu) planner.use_value(planner.made(), true);
    if (operation.bias >= 0) {
      planner.set_parameter_desc(operation.bias, plain_desc({operation.dst.channels}));
    }
    src_place_ = planner.value_place(operation.src);
    dst_place_ = planner.value_place(planner.made());
  }

  void plan_backward(Planner& planner) override {
    diff_dst_buffer_ = planner.incoming().front();
    diff_src_buffer_ = planner.contribute(operation_.src);
    if (operation_.bias >= 0) bias_gradient_.plan(planner, operation_, src_desc_);
  }

  void bind(const Arena& arena) override {
    src_ = arena.at<T>(src_place_.buffer);
    dst_ = arena.at<T>(dst_place_.buffer);
    diff_dst_ = arena.at<T>(diff_dst_buffer_);
    diff_src_ = arena.at<T>(diff_src_buffer_);
    if (operation_.bias < 0) return;
    bias_ = arena.parameters.weights(operation_.bias);
    if (diff_dst_buffer_ >= 0) bias_gradient_.bind(arena, kernels_, diff_src_buffer_);
  }

  void forward(Mode /*mode*/, const Samples& samples) override {
    for_each_block(samples, [&](std::int64_t sample, std::int64_t block, int lanes) {
      float shift[kMostLanes] = {};
      for (int lane = 0; lane < lanes && bias_ != nullptr; ++lane) {
        const std::int64_t channel = block * dst_layout_.width + lane;
        if (channel < dst_layout_.channels) shift[lane] = bias_[channel];
      }
      const T* src = src_ + src_offset(src_place_.row_of(sample, samples), block);
      T* dst = dst_ + dst_layout_.offset(dst_place_.row_of(sample, samples), block);
      for (std::int64_t row = 0; row < dst_layout_.rows; ++row) {
        float values[kMostLanes];
        for (int lane = 0; lane < lanes; ++lane) {
          const float value = as_float(src[lane * src_lane_stride()]) + shift[lane];
          values[lane] = operation_.relu && value < 0.0F ? 0.0F : value;  // NaN stays NaN
        }
        store(values, lanes, dst);
        src += src_layout_.row_stride;
        dst += dst_layout_.row_stride;
      }
    });
  }

  void backward(bool accumulate, const Samples& samples) override {
    for_each_block(samples, [&](std::int64_t sample, std::int64_t block, int lanes) {
      const T* diff_dst = diff_dst_ + dst_layout_.offset(sample, block);
      const T* dst = dst_ + dst_layout_.offset(dst_place_.row_of(sample, samples), block);
      T* diff_src = diff_src_ + src_offset(sample, block);
      const bool is_whole = lanes == kMostLanes && src_lane_stride() == 1 && operation_.relu;
      for (std::int64_t row = 0; row < dst_layout_.rows; ++row) {
        if (is_whole) {
          for (int lane = 0; lane < kMostLanes; ++lane) {
            diff_src[lane] = passed(dst[lane], diff_dst[lane]);
          }
        } else {
          for (int lane = 0; lane < lanes; ++lane) {
            diff_src[lane * src_lane_stride()] =
                operation_.relu ? passed(dst[lane], diff_dst[lane]) : diff_dst[lane];
          }
        }
        diff_dst += dst_layout_.row_stride;
        dst += dst_layout_.row_stride;
        diff_src += src_layout_.row_stride;
      }
    });
    if (bias_ != nullptr) bias_gradient_.run(samples, accumulate || samples.first > 0);
  }

 private:
  /// Plain planes become what layers of images want; other layouts stay.
  dnnl::memory::desc made_desc(const Planner& planner) const {
    if (type_of(src_desc_) != planner.value_type()) {
      throw base::ShapeError(operation_.name + ": its source is not stored as values are");
    }
    if (src_layout_.width > 1) return src_desc_;
    const auto dims = batch_dims(planner.batch(), operation_.dst);
    const bool is_blocked =
        operation_.dst.channels % kMostLanes == 0 && !planner.products().wants_channels_last();
    return is_blocked
               ? dnnl::memory::desc(dims, planner.value_type(), dnnl::memory::format_tag::nChw16c)
               : channels_last_desc(dims, planner.value_type());
  }
  /// Calls body(sample, block of dst, lanes to fill) on all threads.
  template <class Body>
  void for_each_block(const Samples& samples, const Body& body) const {
    const std::int64_t end = samples.first + samples.count;
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t sample = samples.first; sample < end; ++sample) {
      for (std::int64_t block = 0; block < dst_layout_.blocks; ++block) {
        const std::int64_t left = dst_layout_.channels - block * dst_layout_.width;
        body(sample, block,
             dst_layout_.padded
                 ? dst_layout_.width
                 : static_cast<int>(std::min<std::int64_t>(left, dst_layout_.width)));
      }
    }
  }
  bool is_from_planes() const { return src_layout_.width == 1; }
  /// Elements of the source from a channel to the next.
  std::int64_t src_lane_stride() const { return is_from_planes() ? src_layout_.block_stride : 1; }
  /// The first element of a block of dst in the source.
  std::int64_t src_offset(std::int64_t row, std::int64_t block) const {
    return src_layout_.offset(row, is_from_planes() ? block * dst_layout_.width : block);
  }
  void store(const float* values, int lanes, T* to) const {
    if constexpr (std::is_same_v<T, float>) {
      std::copy_n(values, lanes, to);
    } else {
      kernels_.round_to_bf16(values, to, lanes);
    }
  }

  const Operation operation_;
  const Kernels& kernels_;
  const dnnl::memory::desc src_desc_;
  const ChannelLayout src_layout_;
  ChannelLayout dst_layout_;
  ValuePlace src_place_, dst_place_;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  BiasGradient bias_gradient_;
  const float* bias_ = nullptr;
  const T* src_ = nullptr;
  T* dst_ = nullptr;
  const T* diff_dst_ = nullptr;
  T* diff_src_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> make_biased(const Operation& operation, Planner& planner) {
  if (planner.value_type() == dnnl::memory::data_type::bf16) {
    return std::make_unique<BiasedLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<BiasedLayer<float>>(operation, planner);
}

}  // namespace nn
