// What a batch norm multiplies by and adds in each channel: computed from sums and parameters.
// Hides the formulas, and whether statistics are groups' or running ones.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/nn/layer.h"
#include "workloads/nn/layers/group_reduction.h"

namespace nn {

/// Arrays of floats [groups][padded channels], indexed by base(group) + channel; with statistics of
/// the whole batch, or running ones, there is one group. The backward pass uses those of the
/// forward pass.
class BatchNormFactors final : public ChannelMap {
 public:
  /// `padded`: channels including those that pad a block. `rows`: pixels of a sample.
  void plan(const Operation& operation, std::int64_t padded, std::int64_t rows);
  void plan_backward(Planner& planner);
  void bind(const Arena& arena, const Kernels& kernels);

  /// Whether the arrays hold groups' statistics rather than running ones.
  bool by_group() const { return by_group_; }
  std::size_t base(std::size_t group) const {
    return by_group_ ? group * static_cast<std::size_t>(padded_) : 0;
  }
  std::size_t group_count() const { return groups_ == nullptr ? 1 : groups_->groups.size(); }

  /// The forward pass normalises by group: set_forward() follows for every channel of every group.
  void start_groups();
  void set_forward(const GroupReduction& reduction, std::size_t group, std::int64_t first,
                   std::int64_t count);
  /// Adds to the running statistics those of the groups whose first sample this rank has.
  void record(const GroupReduction& reduction) const;
  /// The forward pass normalises with the running statistics.
  void take_running(Mode mode);

  /// Computes the backward factors from the sums of g and of g * (src - mean), where g is the
  /// masked gradient.
  void set_backward(const GroupReduction& reduction, std::size_t group, std::int64_t first,
                    std::int64_t count);
  /// The gradients of gamma and beta over this rank's samples, from the same sums.
  void store_parameter_gradients(const GroupReduction& reduction, bool accumulate) const;

  // For the kernels: arrays from `at` = base(group) + channel on.
  Normalization norm(std::size_t at) const override {
    return {&mean_[at], &scale_[at], &shift_[at]};
  }
  const float* slope(std::size_t at) const { return &slope_[at]; }
  const float* offset(std::size_t at) const { return &offset_[at]; }
  const float* tilt(std::size_t at) const { return &tilt_[at]; }

 private:
  void set(std::size_t at, std::size_t channel, double mean, double variance);

  Operation operation_;
  std::int64_t channels_ = 0, padded_ = 0, rows_ = 0;
  const float* gamma_ = nullptr;  ///< null, as beta_: 1 and 0
  const float* beta_ = nullptr;
  RunningStatistics* statistics_ = nullptr;
  const BatchGroups* groups_ = nullptr;
  GradientTarget gamma_target_, beta_target_;
  double gamma_at(std::size_t channel) const {
    return gamma_ == nullptr ? 1.0 : static_cast<double>(gamma_[channel]);
  }
  bool by_group_ = false;
  std::vector<float> mean_, inverse_deviation_, scale_, shift_;
  std::vector<float> slope_, offset_, tilt_;
  std::int64_t inference_version_ = -1;
};

}  // namespace nn
