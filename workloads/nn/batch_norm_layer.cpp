// Batch norm with residual sum and ReLU, over groups of samples that may lie on several ranks.
// Hides the sums' tree, the exchange with other ranks, and the formulas of the backward pass.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "runner/base/error.h"
#include "workloads/nn/layer.h"

namespace nn {
namespace {

/// Per node of a group's tree: two arrays of `channels` doubles. Forward: mean and sum of squared
/// distances. Backward: sum of gradients, sum of gradient times distance from the mean.
class NodeTable {
 public:
  void bind(double* data, const BatchGroups& groups, std::int64_t channels) {
    data_ = data;
    channels_ = channels;
    bases_.clear();
    std::int64_t slots = 0;
    for (const BatchGroup& group : groups.groups) {
      bases_.push_back(slots);
      slots += group.slots();
    }
  }
  static std::int64_t bytes(const BatchGroups& groups, std::int64_t channels) {
    std::int64_t slots = 0;
    for (const BatchGroup& group : groups.groups) slots += group.slots();
    return slots * 2 * channels * static_cast<std::int64_t>(sizeof(double));
  }
  double* node(std::size_t group, int slot) const {
    return data_ + (bases_[group] + slot) * 2 * channels_;
  }
  std::int64_t channels() const { return channels_; }

 private:
  double* data_ = nullptr;
  std::int64_t channels_ = 0;
  std::vector<std::int64_t> bases_;
};

/// left += right, both arrays.
void add_nodes(double* left, const double* right, std::int64_t channels) {
  for (std::int64_t i = 0; i < 2 * channels; ++i) left[i] += right[i];
}

/// Means and squared distances of two parts together.
/// Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
/// variances", 1979.
void merge_moments(double* left, const double* right, std::int64_t channels, double left_count,
                   double right_count) {
  const double share = right_count / (left_count + right_count);
  double* const left_squares = left + channels;
  const double* const right_squares = right + channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double distance = right[c] - left[c];
    left[c] += distance * share;
    left_squares[c] += right_squares[c] + distance * distance * share * left_count;
  }
}

class BatchNormLayer final : public Layer {
 public:
  BatchNormLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode) override;
  void backward(bool accumulate) override;
  bool adds_gradients() const override { return true; }

 private:
  enum class Pass { kForward, kBackward };
  void run_merges(const std::vector<Merge>& program, std::size_t group, Pass pass,
                  std::vector<double>& counts);
  void reduce_groups(Pass pass);
  void exchange(std::size_t group);
  void forward_training();
  void take_group_statistics(std::size_t group);
  void forward_inference();
  void normalize(const std::vector<std::size_t>& group_of_sample);
  void gather_gradient_sums();
  void store_parameter_gradients(bool accumulate);
  void apply_gradient();
  GradientSource gradient_source(std::int64_t offset) const;
  const double* root(std::size_t group) const {
    return nodes_.node(group, groups_->groups[group].root);
  }

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
  double* nodes_forward_data_ = nullptr;
  double* nodes_backward_data_ = nullptr;
  RunningStatistics* statistics_ = nullptr;
  const BatchGroups* groups_ = nullptr;
  StatisticsExchange* exchange_ = nullptr;
  NodeTable nodes_;
  GradientTarget gamma_target_, beta_target_;
  std::vector<std::size_t> exchange_order_, group_of_sample_;
  std::vector<int> slot_of_sample_;
  // [groups][padded channels]: kept from forward to backward.
  std::vector<float> mean_, inverse_deviation_, scale_, shift_;
  std::vector<float> slope_, offset_, tilt_;
  std::vector<double> sent_;
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
    nodes_forward_ = planner.temporary(NodeTable::bytes(planner.groups(), padded_),
                                       planner.forward_moment(), "batch-norm sums");
  }
}

void BatchNormLayer::plan_backward(Planner& planner) {
  nodes_backward_ = planner.temporary(NodeTable::bytes(planner.groups(), padded_),
                                      planner.backward_moment(), "batch-norm sums");
  diff_first_ = planner.incoming().front();
  if (planner.incoming().size() > 1) diff_second_ = planner.incoming()[1];
  diff_src_buffer_ = planner.contribute(operation_.src);
  if (operation_.residual) diff_residual_buffer_ = planner.contribute(*operation_.residual);
  gamma_target_.plan(planner, channels_ * 4);
  beta_target_.plan(planner, channels_ * 4);
}

void BatchNormLayer::bind(const Arena& arena) {
  src_ = arena.at(src_buffer_);
  dst_ = arena.at(dst_buffer_);
  residual_ = arena.at(residual_buffer_);
  first_ = arena.at(diff_first_);
  second_ = arena.at(diff_second_);
  diff_src_ = arena.at(diff_src_buffer_);
  diff_residual_ = arena.at(diff_residual_buffer_);
  nodes_forward_data_ = reinterpret_cast<double*>(arena.at(nodes_forward_));
  nodes_backward_data_ = reinterpret_cast<double*>(arena.at(nodes_backward_));
  gamma_ = arena.parameters.weights(operation_.weights);
  beta_ = arena.parameters.weights(operation_.bias);
  gamma_target_.bind(arena, operation_.weights, kernels_);
  beta_target_.bind(arena, operation_.bias, kernels_);
  statistics_ = &arena.statistics;
  groups_ = arena.groups;
  exchange_ = arena.exchange;
  const std::size_t groups = groups_ == nullptr ? 1 : groups_->groups.size();
  const std::size_t size = std::max<std::size_t>(groups, 1) * static_cast<std::size_t>(padded_);
  for (auto* array : {&mean_, &inverse_deviation_, &scale_, &shift_, &slope_, &offset_, &tilt_}) {
    array->assign(size, 0.0F);
  }
  if (groups_ == nullptr) return;
  exchange_order_ = exchange_order(*groups_);
  group_of_sample_.assign(static_cast<std::size_t>(batch_), 0);
  slot_of_sample_.assign(static_cast<std::size_t>(batch_), 0);
  for (std::size_t g = 0; g < groups; ++g) {
    const BatchGroup& group = groups_->groups[g];
    for (std::int64_t i = 0; i < group.local_count; ++i) {
      group_of_sample_.at(static_cast<std::size_t>(group.local_first + i)) = g;
      slot_of_sample_.at(static_cast<std::size_t>(group.local_first + i)) = static_cast<int>(i);
    }
  }
}

void BatchNormLayer::forward(Mode mode) {
  if (mode == Mode::kTraining) {
    forward_training();
  } else {
    forward_inference();
  }
}

void BatchNormLayer::run_merges(const std::vector<Merge>& program, std::size_t group, Pass pass,
                                std::vector<double>& counts) {
  for (const Merge& merge : program) {
    double* const left = nodes_.node(group, merge.left);
    const double* const right = nodes_.node(group, merge.right);
    double& left_count = counts[static_cast<std::size_t>(merge.left)];
    const double right_count = counts[static_cast<std::size_t>(merge.right)];
    if (pass == Pass::kForward) {
      merge_moments(left, right, padded_, left_count, right_count);
    } else {
      add_nodes(left, right, padded_);
    }
    left_count += right_count;
  }
}

void BatchNormLayer::exchange(std::size_t group) {
  const BatchGroup& plan = groups_->groups[group];
  const auto node_size = static_cast<std::size_t>(2 * padded_);
  sent_.resize(plan.sent.size() * node_size);
  for (std::size_t i = 0; i < plan.sent.size(); ++i) {
    std::memcpy(sent_.data() + i * node_size, nodes_.node(group, plan.sent[i]),
                node_size * sizeof(double));
  }
  const auto all = static_cast<std::size_t>(plan.slots() - plan.local_count) * node_size;
  exchange_->gather(plan, sent_, {nodes_.node(group, static_cast<int>(plan.local_count)), all});
}

void BatchNormLayer::reduce_groups(Pass pass) {
  const auto count = static_cast<std::int64_t>(groups_->groups.size());
  std::vector<std::vector<double>> counts(groups_->groups.size());
  for (std::size_t g = 0; g < counts.size(); ++g) {
    for (const std::int64_t samples : groups_->groups[g].samples) {
      counts[g].push_back(static_cast<double>(samples * layout_.rows));
    }
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t g = 0; g < count; ++g) {
    const auto group = static_cast<std::size_t>(g);
    run_merges(groups_->groups[group].before, group, pass, counts[group]);
  }
  if (pass == Pass::kBackward) gather_gradient_sums();
  for (const std::size_t group : exchange_order_) {
    exchange(group);
    run_merges(groups_->groups[group].after, group, pass, counts[group]);
  }
}

void BatchNormLayer::take_group_statistics(std::size_t group) {
  const BatchGroup& plan = groups_->groups[group];
  const double* const mean = root(group);
  const double* const squares = mean + padded_;
  const std::int64_t points = plan.size * layout_.rows;
  std::vector<double> variance(static_cast<std::size_t>(channels_));
  const std::size_t base = group * static_cast<std::size_t>(padded_);
  for (std::int64_t c = 0; c < channels_; ++c) {
    const auto at = base + static_cast<std::size_t>(c);
    variance[static_cast<std::size_t>(c)] = squares[c] / static_cast<double>(points);
    const double inverse =
        1.0 / std::sqrt(variance[static_cast<std::size_t>(c)] + operation_.epsilon);
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

void BatchNormLayer::normalize(const std::vector<std::size_t>& group_of_sample) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t block = 0; block < layout_.blocks; ++block) {
      const std::size_t group =
          group_of_sample.empty() ? 0 : group_of_sample[static_cast<std::size_t>(sample)];
      const std::size_t at = group * static_cast<std::size_t>(padded_) +
                             static_cast<std::size_t>(block * layout_.width);
      const std::int64_t offset = layout_.offset(sample, block);
      kernels_.normalize(src_ + offset, residual_ == nullptr ? nullptr : residual_ + offset,
                         dst_ + offset, layout_.column(block), &mean_[at], &scale_[at], &shift_[at],
                         operation_.relu);
    }
  }
}

void BatchNormLayer::forward_training() {
  inference_version_ = -1;
  nodes_.bind(nodes_forward_data_, *groups_, padded_);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t block = 0; block < layout_.blocks; ++block) {
      const auto index = static_cast<std::size_t>(sample);
      double* const node =
          nodes_.node(group_of_sample_[index], slot_of_sample_[index]) + block * layout_.width;
      kernels_.moments(src_ + layout_.offset(sample, block), layout_.column(block), node,
                       node + padded_);
    }
  }
  reduce_groups(Pass::kForward);
  for (std::size_t group = 0; group < groups_->groups.size(); ++group) take_group_statistics(group);
  normalize(group_of_sample_);
}

void BatchNormLayer::forward_inference() {
  if (inference_version_ != statistics_->version()) {
    const std::span<const double> mean = statistics_->mean(operation_.statistics);
    const std::span<const double> variance = statistics_->variance(operation_.statistics);
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels_); ++c) {
      const double inverse = 1.0 / std::sqrt(variance[c] + operation_.epsilon);
      mean_[c] = static_cast<float>(mean[c]);
      scale_[c] = static_cast<float>(inverse * static_cast<double>(gamma_[c]));
      shift_[c] = beta_[c];
    }
    inference_version_ = statistics_->version();
  }
  normalize({});
}

GradientSource BatchNormLayer::gradient_source(std::int64_t offset) const {
  return {first_ + offset, second_ == nullptr ? nullptr : second_ + offset,
          operation_.relu ? dst_ + offset : nullptr};
}

void BatchNormLayer::gather_gradient_sums() {
  // The sent nodes of a group hold this rank's part of its sums, each sample once.
  std::vector<double> gamma(static_cast<std::size_t>(channels_), 0.0);
  std::vector<double> beta(static_cast<std::size_t>(channels_), 0.0);
  for (std::size_t group = 0; group < groups_->groups.size(); ++group) {
    const float* const inverse = &inverse_deviation_[group * static_cast<std::size_t>(padded_)];
    for (const int slot : groups_->groups[group].sent) {
      const double* const node = nodes_.node(group, slot);
      for (std::int64_t c = 0; c < channels_; ++c) {
        beta[static_cast<std::size_t>(c)] += node[c];
        gamma[static_cast<std::size_t>(c)] += node[padded_ + c] * static_cast<double>(inverse[c]);
      }
    }
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels_); ++c) {
    slope_[c] = static_cast<float>(gamma[c]);  // borrowed until store_parameter_gradients()
    offset_[c] = static_cast<float>(beta[c]);
  }
}

void BatchNormLayer::store_parameter_gradients(bool accumulate) {
  const std::size_t bytes = static_cast<std::size_t>(channels_) * sizeof(float);
  std::memcpy(gamma_target_.begin(accumulate), slope_.data(), bytes);
  std::memcpy(beta_target_.begin(accumulate), offset_.data(), bytes);
  gamma_target_.finish(accumulate);
  beta_target_.finish(accumulate);
}

void BatchNormLayer::apply_gradient() {
  for (std::size_t group = 0; group < groups_->groups.size(); ++group) {
    const double* const sum = root(group);
    const double* const product = sum + padded_;
    const std::size_t base = group * static_cast<std::size_t>(padded_);
    const double points = static_cast<double>(groups_->groups[group].size * layout_.rows);
    for (std::int64_t c = 0; c < channels_; ++c) {
      const auto at = base + static_cast<std::size_t>(c);
      const double inverse = static_cast<double>(inverse_deviation_[at]);
      const double slope = inverse * static_cast<double>(gamma_[c]);
      slope_[at] = static_cast<float>(slope);
      offset_[at] = static_cast<float>(slope * sum[c] / points);
      tilt_[at] = static_cast<float>(slope * inverse * inverse * product[c] / points);
    }
  }
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t block = 0; block < layout_.blocks; ++block) {
      const std::size_t at =
          group_of_sample_[static_cast<std::size_t>(sample)] * static_cast<std::size_t>(padded_) +
          static_cast<std::size_t>(block * layout_.width);
      const std::int64_t offset = layout_.offset(sample, block);
      kernels_.gradient_apply(src_ + offset, gradient_source(offset), diff_src_ + offset,
                              diff_residual_ == nullptr ? nullptr : diff_residual_ + offset,
                              layout_.column(block), &mean_[at], &slope_[at], &offset_[at],
                              &tilt_[at]);
    }
  }
}

void BatchNormLayer::backward(bool accumulate) {
  nodes_.bind(nodes_backward_data_, *groups_, padded_);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t block = 0; block < layout_.blocks; ++block) {
      const auto index = static_cast<std::size_t>(sample);
      const std::size_t group = group_of_sample_[index];
      double* const node = nodes_.node(group, slot_of_sample_[index]) + block * layout_.width;
      const std::int64_t offset = layout_.offset(sample, block);
      const std::size_t at = group * static_cast<std::size_t>(padded_) +
                             static_cast<std::size_t>(block * layout_.width);
      kernels_.gradient_sums(src_ + offset, gradient_source(offset), layout_.column(block),
                             &mean_[at], node, node + padded_);
    }
  }
  reduce_groups(Pass::kBackward);
  store_parameter_gradients(accumulate);
  apply_gradient();
}

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const Operation& operation, Planner& planner) {
  return std::make_unique<BatchNormLayer>(operation, planner);
}

}  // namespace nn
