// Activations of vectors, with dropout, in plain loops: they take little time next to any product.
// The forward pass keeps the factors that the backward pass multiplies by.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "workloads/nn/layers/make_layers.h"

namespace nn {
namespace {

template <class T>
class ActivationLayer final : public Layer {
 public:
  ActivationLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        kernels_(planner.kernels()),
        batch_(planner.batch()),
        width_(operation.dst.channels),
        name_hash_(base::hash_name(operation.name)),
        row_(static_cast<std::size_t>(width_)) {
    planner.use_value(operation.src, false);
    planner.define_value(planner.value_desc(operation.src));
    if (planner.training()) {
      factors_buffer_ = planner.kept(batch_ * width_ * static_cast<std::int64_t>(sizeof(float)),
                                     "activation factors");
    }
    src_place_ = planner.value_place(operation.src);
    dst_place_ = planner.value_place(planner.made());
  }
  void plan_backward(Planner& planner) override {
    diff_dst_buffer_ = planner.incoming().front();
    diff_src_buffer_ = planner.contribute(operation_.src);
  }
  void bind(const Arena& arena) override {
    src_ = arena.at<T>(src_place_.buffer);
    dst_ = arena.at<T>(dst_place_.buffer);
    factors_ = arena.at(factors_buffer_);
    diff_dst_ = arena.at<T>(diff_dst_buffer_);
    diff_src_ = arena.at<T>(diff_src_buffer_);
    streams_ = arena.streams;
  }
  void forward(Mode mode, const Samples& samples) override {
    for (std::int64_t sample = samples.first; sample < samples.first + samples.count; ++sample) {
      forward_sample(mode, sample, samples);
    }
  }
  void backward(bool /*accumulate*/, const Samples& samples) override {
    for (std::int64_t sample = samples.first; sample < samples.first + samples.count; ++sample) {
      const std::int64_t first = sample * width_;
      for (std::int64_t i = 0; i < width_; ++i) {
        row_[static_cast<std::size_t>(i)] = as_float(diff_dst_[first + i]) * factors_[first + i];
      }
      store_row(diff_src_ + first);
    }
  }

 private:
  struct ValueAndSlope {
    double value, slope;
  };
  ValueAndSlope applied(double x) const {
    if (operation_.function == ActivationFunction::kIdentity) return {x, 1.0};
    if (operation_.function == ActivationFunction::kTanh) {
      const double t = std::tanh(x);
      return {operation_.scale * t, operation_.scale * (1.0 - t * t)};
    }
    // NaN stays NaN.
    const double slope = x > 0.0 ? 1.0 : operation_.slope;
    return {x * slope, slope};
  }
  void forward_sample(Mode mode, std::int64_t sample, const Samples& samples) {
    const T* const src = src_ + src_place_.row_of(sample, samples) * width_;
    T* const dst = dst_ + dst_place_.row_of(sample, samples) * width_;
    float* const factors = factors_ == nullptr ? nullptr : factors_ + sample * width_;
    const bool drops = mode == Mode::kTraining && operation_.dropout > 0.0;
    if (drops && static_cast<std::int64_t>(streams_->samples.size()) != batch_) {
      throw base::Error(base::ExitCode::kInternal,
                        operation_.name + ": dropout without names of the pass's samples");
    }
    const std::uint64_t index = drops ? streams_->samples[static_cast<std::size_t>(sample)] : 0;
    base::RandomStream stream(streams_->seed ^ name_hash_, base::Purpose::kDropout, streams_->epoch,
                              index);
    for (std::int64_t i = 0; i < width_; ++i) {
      ValueAndSlope result = applied(static_cast<double>(as_float(src[i])));
      if (drops) {
        const double kept = stream.uniform() < operation_.dropout ? 0.0 : 1.0;
        result.value *= kept / (1.0 - operation_.dropout);
        result.slope *= kept / (1.0 - operation_.dropout);
      }
      row_[static_cast<std::size_t>(i)] = static_cast<float>(result.value);
      if (factors != nullptr) factors[i] = static_cast<float>(result.slope);
    }
    store_row(dst);
  }
  void store_row(T* to) const {
    if constexpr (std::is_same_v<T, float>) {
      std::ranges::copy(row_, to);
    } else {
      kernels_.round_to_bf16(row_.data(), to, width_);
    }
  }

  const Operation operation_;
  const Kernels& kernels_;
  const std::int64_t batch_, width_;
  const std::uint64_t name_hash_;
  std::vector<float> row_;  ///< one sample's, before it is stored
  ValuePlace src_place_, dst_place_;
  BufferId factors_buffer_ = -1, diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  const T* src_ = nullptr;
  T* dst_ = nullptr;
  float* factors_ = nullptr;
  const T* diff_dst_ = nullptr;
  T* diff_src_ = nullptr;
  const SampleStreams* streams_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> make_activation(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == dnnl::memory::data_type::bf16) {
    return std::make_unique<ActivationLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<ActivationLayer<float>>(operation, planner);
}

}  // namespace nn
