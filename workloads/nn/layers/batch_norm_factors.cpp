// From a batch norm's sums to its factors.
#include "workloads/nn/layers/batch_norm_factors.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace nn {

void BatchNormFactors::plan(const Operation& operation, std::int64_t padded, std::int64_t rows) {
  operation_ = operation;
  channels_ = operation.dst.channels;
  padded_ = padded;
  rows_ = rows;
}

void BatchNormFactors::plan_backward(Planner& planner) {
  if (operation_.weights < 0) return;
  const auto bytes = channels_ * static_cast<std::int64_t>(sizeof(float));
  gamma_target_.plan(planner, bytes, planner.backward_observation());
  beta_target_.plan(planner, bytes, planner.backward_observation());
}

void BatchNormFactors::bind(const Arena& arena, const Kernels& kernels) {
  if (operation_.weights >= 0) {
    gamma_ = arena.parameters.weights(operation_.weights);
    beta_ = arena.parameters.weights(operation_.bias);
    gamma_target_.bind(arena, operation_.weights, kernels);
    beta_target_.bind(arena, operation_.bias, kernels);
  }
  statistics_ = &arena.statistics;
  groups_ = arena.groups;
  const std::size_t size =
      std::max<std::size_t>(group_count(), 1) * static_cast<std::size_t>(padded_);
  for (auto* array : {&mean_, &inverse_deviation_, &scale_, &shift_, &slope_, &offset_, &tilt_}) {
    array->assign(size, 0.0F);
  }
}

void BatchNormFactors::start_groups() {
  by_group_ = true;
  inference_version_ = -1;
}

void BatchNormFactors::set(std::size_t at, std::size_t channel, double mean, double variance) {
  const double inverse = 1.0 / std::sqrt(variance + operation_.epsilon);
  mean_[at] = static_cast<float>(mean);
  inverse_deviation_[at] = static_cast<float>(inverse);
  scale_[at] = static_cast<float>(inverse * gamma_at(channel));
  shift_[at] = beta_ == nullptr ? 0.0F : beta_[channel];
}

void BatchNormFactors::set_forward(const GroupReduction& reduction, std::size_t group,
                                   std::int64_t first, std::int64_t count) {
  const double* const mean = reduction.root(group);
  const double* const squares = mean + padded_;
  const auto points = static_cast<double>(groups_->groups[group].size * rows_);
  for (std::int64_t c = first; c < first + count; ++c) {
    const auto channel = static_cast<std::size_t>(c);
    set(base(group) + channel, channel, mean[c], squares[c] / points);
  }
}

void BatchNormFactors::record(const GroupReduction& reduction) const {
  for (std::size_t group = 0; group < group_count(); ++group) {
    const BatchGroup& plan = groups_->groups[group];
    if (!plan.owned) continue;
    const double* const mean = reduction.root(group);
    const std::int64_t points = plan.size * rows_;
    std::vector<double> variance(mean + padded_, mean + padded_ + channels_);
    for (double& value : variance) value /= static_cast<double>(points);
    statistics_->add_group(operation_.statistics, {mean, static_cast<std::size_t>(channels_)},
                           variance, points);
  }
}

void BatchNormFactors::take_running(Mode mode) {
  // Neither statistics nor weights change between evaluation batches; between training steps
  // weights do.
  const bool inference = mode == Mode::kInference;
  by_group_ = false;
  if (inference && inference_version_ == statistics_->version()) return;
  inference_version_ = inference ? statistics_->version() : -1;
  const std::span<const double> mean = statistics_->mean(operation_.statistics);
  const std::span<const double> variance = statistics_->variance(operation_.statistics);
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels_); ++c) {
    set(c, c, mean[c], variance[c]);
  }
}

void BatchNormFactors::set_backward(const GroupReduction& reduction, std::size_t group,
                                    std::int64_t first, std::int64_t count) {
  const double* const sum = reduction.root(group);
  const double* const product = sum + padded_;
  const double points = static_cast<double>(groups_->groups[group].size * rows_);
  for (std::int64_t c = first; c < first + count; ++c) {
    const std::size_t at = base(group) + static_cast<std::size_t>(c);
    const double inverse = static_cast<double>(inverse_deviation_[at]);
    const double slope = inverse * gamma_at(static_cast<std::size_t>(c));
    slope_[at] = static_cast<float>(slope);
    offset_[at] = static_cast<float>(slope * sum[c] / points);
    tilt_[at] = static_cast<float>(slope * inverse * inverse * product[c] / points);
  }
}

void BatchNormFactors::store_parameter_gradients(const GroupReduction& reduction,
                                                 bool accumulate) const {
  if (gamma_ == nullptr) return;
  std::vector<double> gamma(static_cast<std::size_t>(channels_), 0.0);
  std::vector<double> beta(static_cast<std::size_t>(channels_), 0.0);
  for (std::size_t group = 0; group < group_count(); ++group) {
    const float* const inverse = &inverse_deviation_[base(group)];
    for (const double* const node : reduction.local_nodes(group)) {
      for (std::int64_t c = 0; c < channels_; ++c) {
        beta[static_cast<std::size_t>(c)] += node[c];
        gamma[static_cast<std::size_t>(c)] += node[padded_ + c] * static_cast<double>(inverse[c]);
      }
    }
  }
  const auto to_float = [](double value) { return static_cast<float>(value); };
  std::transform(gamma.begin(), gamma.end(), gamma_target_.begin(accumulate), to_float);
  std::transform(beta.begin(), beta.end(), beta_target_.begin(accumulate), to_float);
  gamma_target_.finish(accumulate);
  beta_target_.finish(accumulate);
}

}  // namespace nn
