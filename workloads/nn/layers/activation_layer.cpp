// Activations of vectors, with dropout, in plain loops: they take little time next to any product.
// The forward pass keeps the factors that the backward pass multiplies by.
#include <cmath>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "workloads/nn/layers/make_layers.h"

namespace nn {
namespace {

class ActivationLayer final : public Layer {
 public:
  ActivationLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        batch_(planner.batch()),
        width_(operation.dst.channels),
        name_hash_(base::hash_name(operation.name)) {
    if (type_of(planner.value_desc(operation.src)) != dnnl::memory::data_type::f32) {
      throw base::ShapeError(operation.name + ": expected floats");
    }
    planner.use_value(operation.src, false);
    planner.define_value(plain_desc({batch_, width_}));
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
    src_ = arena.at(src_place_.buffer);
    dst_ = arena.at(dst_place_.buffer);
    factors_ = arena.at(factors_buffer_);
    diff_dst_ = arena.at(diff_dst_buffer_);
    diff_src_ = arena.at(diff_src_buffer_);
    streams_ = arena.streams;
  }
  void forward(Mode mode, const Samples& samples) override {
    for (std::int64_t sample = samples.first; sample < samples.first + samples.count; ++sample) {
      forward_sample(mode, sample, samples);
    }
  }
  void backward(bool /*accumulate*/, const Samples& samples) override {
    const std::int64_t end = (samples.first + samples.count) * width_;
    for (std::int64_t i = samples.first * width_; i < end; ++i) {
      diff_src_[i] = diff_dst_[i] * factors_[i];
    }
  }

 private:
  struct ValueAndSlope {
    double value, slope;
  };
  ValueAndSlope applied(double x) const {
    if (operation_.function == ActivationFunction::kTanh) {
      const double t = std::tanh(x);
      return {operation_.scale * t, operation_.scale * (1.0 - t * t)};
    }
    // NaN stays NaN.
    const double slope = x > 0.0 ? 1.0 : operation_.slope;
    return {x * slope, slope};
  }
  void forward_sample(Mode mode, std::int64_t sample, const Samples& samples) {
    const float* const src = src_ + src_place_.row_of(sample, samples) * width_;
    float* const dst = dst_ + dst_place_.row_of(sample, samples) * width_;
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
      ValueAndSlope result = applied(static_cast<double>(src[i]));
      if (drops) {
        const double kept = stream.uniform() < operation_.dropout ? 0.0 : 1.0;
        result.value *= kept / (1.0 - operation_.dropout);
        result.slope *= kept / (1.0 - operation_.dropout);
      }
      dst[i] = static_cast<float>(result.value);
      if (factors != nullptr) factors[i] = static_cast<float>(result.slope);
    }
  }

  const Operation operation_;
  const std::int64_t batch_, width_;
  const std::uint64_t name_hash_;
  ValuePlace src_place_, dst_place_;
  BufferId factors_buffer_ = -1, diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  const float* src_ = nullptr;
  float* dst_ = nullptr;
  float* factors_ = nullptr;
  const float* diff_dst_ = nullptr;
  float* diff_src_ = nullptr;
  const SampleStreams* streams_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> make_activation(const Operation& operation, Planner& planner) {
  return std::make_unique<ActivationLayer>(operation, planner);
}

}  // namespace nn
