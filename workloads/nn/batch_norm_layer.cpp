// Batch norm with residual sum and ReLU, over groups of samples that may lie on several ranks.
// Hides the formulas of both passes, with statistics of the batch or fixed ones; the sums over a
// group's samples are GroupReduction's.
#include <algorithm>
#include <cmath>
#include <optional>

#include "runner/base/error.h"
#include "workloads/nn/group_reduction.h"
#include "workloads/nn/layer.h"

namespace nn {
namespace {

class BatchNormLayer final : public Layer {
 public:
  BatchNormLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode) override;
  void backward(bool accumulate) override;
  bool adds_gradients() const override { return true; }

 private:
  /// Calls body(sample, block, offset of the column, index of its channels in per-group arrays).
  template <class Body>
  void for_each_column(const Body& body) const;
  std::size_t group_base(std::size_t group) const {
    return group * static_cast<std::size_t>(padded_);
  }
  /// Where the arrays below have the statistics that `group` was normalised with.
  std::size_t statistics_base(std::size_t group) const { return by_group_ ? group_base(group) : 0; }
  std::size_t group_count() const { return groups_ == nullptr ? 1 : groups_->groups.size(); }
  void take_group_statistics(std::size_t group);
  void take_running_statistics(Mode mode);
  void normalize();
  void sum_gradients();
  void store_parameter_gradients(bool accumulate);
  void set_gradient_factors(std::size_t group);
  void apply_gradient();
  void backward_frozen(bool accumulate);
  GradientSource gradient_source(std::int64_t offset) const;

  const Operation operation_;
  const Kernels& kernels_;
  std::int64_t batch_, channels_, padded_;
  ChannelLayout layout_;
  BufferId src_buffer_, dst_buffer_, residual_buffer_ = -1, nodes_forward_ = -1,
                                     nodes_backward_ = -1;
  BufferId diff_first_ = -1, diff_second_ = -1, diff_src_buffer_ = -1, diff_residual_buffer_ = -1;
  const float* src_ = nullptr;
  const float* residual_ = nullptr;
  float* dst_ = nullptr;
  const float* first_ = nullptr;
  const float* second_ = nullptr;
  float* diff_src_ = nullptr;
  float* diff_residual_ = nullptr;
  const float* gamma_ = nullptr;
  const float* beta_ = nullptr;
  double* forward_memory_ = nullptr;
  double* backward_memory_ = nullptr;
  RunningStatistics* statistics_ = nullptr;
  const BatchGroups* groups_ = nullptr;
  std::optional<GroupReduction> reduction_;  ///< training only
  bool by_group_ = false;  ///< the arrays below hold groups' statistics, not running ones
  GradientTarget gamma_target_, beta_target_;
  // [groups][padded channels]: of the forward pass, kept for the backward pass; then factors of
  // that.
  std::vector<float> mean_, inverse_deviation_, scale_, shift_;
  std::vector<float> slope_, offset_, tilt_;
  std::int64_t inference_version_ = -1;
};

BatchNormLayer::BatchNormLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels()),
      batch_(planner.batch()),
      channels_(operation.dst.channels),
      layout_(channel_layout(planner.value_desc(operation.src))) {
  padded_ = layout_.padded_channels();
  const dnnl::memory::desc& desc = planner.value_desc(operation.src);
  planner.use_value(operation.src, true);
  if (operation.residual) {
    if (planner.value_desc(*operation.residual) != desc) {
      throw base::ShapeError(operation.name + ": residual and source differ in layout");
    }
    planner.use_value(*operation.residual, false);
    residual_buffer_ = planner.value_buffer(*operation.residual);
  }
  planner.define_value(desc);
  const dnnl::memory::desc parameter = plain_desc({channels_});
  planner.set_parameter_desc(operation.weights, parameter);
  planner.set_parameter_desc(operation.bias, parameter);
  src_buffer_ = planner.value_buffer(operation.src);
  dst_buffer_ = planner.value_buffer(planner.forward_moment());
  // The backward pass reads the ReLU's mask off the output.
  if (operation.relu) planner.use_value(planner.forward_moment(), true);
  if (planner.training()) {
    nodes_forward_ = planner.temporary(GroupReduction::bytes(planner.groups(), padded_),
                                       planner.forward_moment(), "batch-norm sums");
  }
}

void BatchNormLayer::plan_backward(Planner& planner) {
  nodes_backward_ = planner.temporary(GroupReduction::bytes(planner.groups(), padded_),
                                      planner.backward_moment(), "batch-norm sums");
  diff_first_ = planner.incoming().front();
  if (planner.incoming().size() > 1) diff_second_ = planner.incoming()[1];
  diff_src_buffer_ = planner.contribute(operation_.src);
  if (operation_.residual) diff_residual_buffer_ = planner.contribute(*operation_.residual);
  gamma_target_.plan(planner, channels_ * static_cast<std::int64_t>(sizeof(float)));
  beta_target_.plan(planner, channels_ * static_cast<std::int64_t>(sizeof(float)));
}

void BatchNormLayer::bind(const Arena& arena) {
  src_ = arena.at(src_buffer_);
  dst_ = arena.at(dst_buffer_);
  residual_ = arena.at(residual_buffer_);
  first_ = arena.at(diff_first_);
  second_ = arena.at(diff_second_);
  diff_src_ = arena.at(diff_src_buffer_);
  diff_residual_ = arena.at(diff_residual_buffer_);
  forward_memory_ = reinterpret_cast<double*>(arena.at(nodes_forward_));
  backward_memory_ = reinterpret_cast<double*>(arena.at(nodes_backward_));
  gamma_ = arena.parameters.weights(operation_.weights);
  beta_ = arena.parameters.weights(operation_.bias);
  gamma_target_.bind(arena, operation_.weights, kernels_);
  beta_target_.bind(arena, operation_.bias, kernels_);
  statistics_ = &arena.statistics;
  groups_ = arena.groups;
  if (groups_ != nullptr) reduction_.emplace(*groups_, arena.exchange, padded_, layout_.rows);
  const std::size_t size = group_base(std::max<std::size_t>(group_count(), 1));
  for (auto* array : {&mean_, &inverse_deviation_, &scale_, &shift_, &slope_, &offset_, &tilt_}) {
    array->assign(size, 0.0F);
  }
}

template <class Body>
void BatchNormLayer::for_each_column(const Body& body) const {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t block = 0; block < layout_.blocks; ++block) {
      const std::size_t base = by_group_ ? group_base(reduction_->group_of(sample)) : 0;
      body(sample, block, layout_.offset(sample, block),
           base + static_cast<std::size_t>(block * layout_.width));
    }
  }
}

void BatchNormLayer::forward(Mode mode) {
  by_group_ = mode == Mode::kTraining;
  if (!by_group_) {
    take_running_statistics(mode);
    normalize();
    return;
  }
  inference_version_ = -1;
  reduction_->start(forward_memory_);
  for_each_column(
      [this](std::int64_t sample, std::int64_t block, std::int64_t offset, std::size_t) {
        double* const node = reduction_->sample_node(sample) + block * layout_.width;
        kernels_.moments(src_ + offset, layout_.column(block), node, node + padded_);
      });
  reduction_->reduce_local(Reduction::kMoments);
  reduction_->reduce_shared(Reduction::kMoments);
  for (std::size_t group = 0; group < group_count(); ++group) take_group_statistics(group);
  normalize();
}

void BatchNormLayer::take_group_statistics(std::size_t group) {
  const BatchGroup& plan = groups_->groups[group];
  const double* const mean = reduction_->root(group);
  const double* const squares = mean + padded_;
  const std::int64_t points = plan.size * layout_.rows;
  std::vector<double> variance(static_cast<std::size_t>(channels_));
  for (std::int64_t c = 0; c < channels_; ++c) {
    const std::size_t at = group_base(group) + static_cast<std::size_t>(c);
    double& channel_variance = variance[static_cast<std::size_t>(c)];
    channel_variance = squares[c] / static_cast<double>(points);
    const double inverse = 1.0 / std::sqrt(channel_variance + operation_.epsilon);
    mean_[at] = static_cast<float>(mean[c]);
    inverse_deviation_[at] = static_cast<float>(inverse);
    scale_[at] = static_cast<float>(inverse * static_cast<double>(gamma_[c]));
    shift_[at] = beta_[c];
  }
  if (plan.owned) {
    statistics_->add_group(operation_.statistics, {mean, static_cast<std::size_t>(channels_)},
                           variance, points);
  }
}

void BatchNormLayer::take_running_statistics(Mode mode) {
  // Between evaluation batches neither statistics nor weights change; between training steps
  // weights do.
  const bool inference = mode == Mode::kInference;
  if (inference && inference_version_ == statistics_->version()) return;
  inference_version_ = inference ? statistics_->version() : -1;
  const std::span<const double> mean = statistics_->mean(operation_.statistics);
  const std::span<const double> variance = statistics_->variance(operation_.statistics);
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels_); ++c) {
    const double inverse = 1.0 / std::sqrt(variance[c] + operation_.epsilon);
    mean_[c] = static_cast<float>(mean[c]);
    inverse_deviation_[c] = static_cast<float>(inverse);
    scale_[c] = static_cast<float>(inverse * static_cast<double>(gamma_[c]));
    shift_[c] = beta_[c];
  }
}

void BatchNormLayer::normalize() {
  for_each_column([this](std::int64_t, std::int64_t block, std::int64_t offset, std::size_t at) {
    kernels_.normalize(src_ + offset, residual_ == nullptr ? nullptr : residual_ + offset,
                       dst_ + offset, layout_.column(block), &mean_[at], &scale_[at], &shift_[at],
                       operation_.relu);
  });
}

GradientSource BatchNormLayer::gradient_source(std::int64_t offset) const {
  return {first_ + offset, second_ == nullptr ? nullptr : second_ + offset,
          operation_.relu ? dst_ + offset : nullptr};
}

void BatchNormLayer::backward(bool accumulate) {
  if (!by_group_) return backward_frozen(accumulate);
  sum_gradients();
  reduction_->reduce_local(Reduction::kSums);
  store_parameter_gradients(accumulate);
  reduction_->reduce_shared(Reduction::kSums);
  for (std::size_t group = 0; group < group_count(); ++group) set_gradient_factors(group);
  apply_gradient();
}

void BatchNormLayer::sum_gradients() {
  reduction_->start(backward_memory_);
  for_each_column(
      [this](std::int64_t sample, std::int64_t block, std::int64_t offset, std::size_t at) {
        double* const node = reduction_->sample_node(sample) + block * layout_.width;
        kernels_.gradient_sums(src_ + offset, gradient_source(offset), layout_.column(block),
                               &mean_[at], node, node + padded_);
      });
}

void BatchNormLayer::store_parameter_gradients(bool accumulate) {
  std::vector<double> gamma(static_cast<std::size_t>(channels_), 0.0);
  std::vector<double> beta(static_cast<std::size_t>(channels_), 0.0);
  for (std::size_t group = 0; group < group_count(); ++group) {
    const float* const inverse = &inverse_deviation_[statistics_base(group)];
    for (const double* const node : reduction_->local_nodes(group)) {
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

void BatchNormLayer::set_gradient_factors(std::size_t group) {
  const double* const sum = reduction_->root(group);
  const double* const product = sum + padded_;
  const double points = static_cast<double>(groups_->groups[group].size * layout_.rows);
  for (std::int64_t c = 0; c < channels_; ++c) {
    const std::size_t at = group_base(group) + static_cast<std::size_t>(c);
    const double inverse = static_cast<double>(inverse_deviation_[at]);
    const double slope = inverse * static_cast<double>(gamma_[c]);
    slope_[at] = static_cast<float>(slope);
    offset_[at] = static_cast<float>(slope * sum[c] / points);
    tilt_[at] = static_cast<float>(slope * inverse * inverse * product[c] / points);
  }
}

void BatchNormLayer::apply_gradient() {
  for_each_column([this](std::int64_t, std::int64_t block, std::int64_t offset, std::size_t at) {
    kernels_.gradient_apply(src_ + offset, gradient_source(offset), diff_src_ + offset,
                            diff_residual_ == nullptr ? nullptr : diff_residual_ + offset,
                            layout_.column(block), &mean_[at], &slope_[at], &offset_[at],
                            &tilt_[at]);
  });
}

/// Fixed statistics do not depend on the source: its gradient is the output's, scaled as forward.
void BatchNormLayer::backward_frozen(bool accumulate) {
  reduction_->start(backward_memory_);
  for_each_column([this](std::int64_t sample, std::int64_t block, std::int64_t offset,
                         std::size_t at) {
    double* const node = reduction_->sample_node(sample) + block * layout_.width;
    kernels_.gradient_frozen(src_ + offset, gradient_source(offset), diff_src_ + offset,
                             diff_residual_ == nullptr ? nullptr : diff_residual_ + offset,
                             layout_.column(block), &mean_[at], &scale_[at], node, node + padded_);
  });
  reduction_->reduce_local(Reduction::kSums);
  store_parameter_gradients(accumulate);
}

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const Operation& operation, Planner& planner) {
  return std::make_unique<BatchNormLayer>(operation, planner);
}

}  // namespace nn
