// Batch norm with residual sum and ReLU, over groups of samples that may lie on several ranks.
// Hides the formulas of both passes, with statistics of the batch or fixed ones; the sums over a
// group's samples are GroupReduction's.
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "runner/base/error.h"
#include "workloads/nn/group_reduction.h"
#include "workloads/nn/layer.h"

namespace nn {
namespace {

/// Bytes of activations that a thread may hope to find in its second cache when it comes back to
/// them.
std::int64_t cached_bytes() {
  constexpr std::int64_t kUsual = 1 << 20;
  const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::int64_t>(bytes) : kUsual;
}

template <class T>
class BatchNormLayer final : public Layer {
 public:
  BatchNormLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode) override;
  void backward(bool accumulate) override;
  bool adds_gradients() const override { return true; }

 private:
  /// One column: 16 channels of a sample, or fewer.
  struct Place {
    std::int64_t sample, block;
    std::int64_t offset;  ///< of the column in activations
    std::size_t at;       ///< of its channels in per-group arrays
  };
  Place place(std::int64_t sample, std::int64_t block) const {
    const std::size_t base = by_group_ ? group_base(reduction_->group_of(sample)) : 0;
    return {sample, block, layout_.offset(sample, block),
            base + static_cast<std::size_t>(block * layout_.width)};
  }
  /// Calls body(place) for every column.
  template <class Body>
  void for_each_column(const Body& body) const;
  /// Calls body(group, block) for each group and 16 channels.
  template <class Body>
  void for_each_unit(const Body& body) const;
  /// Calls body(place) for the columns of such a unit.
  template <class Body>
  void for_each_sample(std::size_t group, std::int64_t block, const Body& body) const;
  bool stays_in_cache(std::int64_t arrays) const;

  std::size_t group_base(std::size_t group) const {
    return group * static_cast<std::size_t>(padded_);
  }
  /// Where the arrays below have the statistics that `group` was normalised with.
  std::size_t statistics_base(std::size_t group) const { return by_group_ ? group_base(group) : 0; }
  std::size_t group_count() const { return groups_ == nullptr ? 1 : groups_->groups.size(); }
  double* node(const Place& where) const {
    return reduction_->sample_node(where.sample) + where.block * layout_.width;
  }
  PassedBits* passed(const Place& where) const {
    if (passed_ == nullptr) return nullptr;
    return passed_ + (where.sample * layout_.blocks + where.block) * layout_.rows;
  }
  void forward_groups();
  void backward_groups(bool accumulate);
  void take_moments(const Place& where) const;
  void set_forward_factors(std::size_t group, std::int64_t first, std::int64_t count);
  void record_statistics(std::size_t group) const;
  void take_running_statistics(Mode mode);
  void normalize(const Place& where) const;
  void sum_gradients(const Place& where) const;
  void store_parameter_gradients(bool accumulate);
  void set_gradient_factors(std::size_t group, std::int64_t first, std::int64_t count);
  void apply_gradient(const Place& where) const;
  void backward_frozen(bool accumulate);
  GradientSource<T> gradient_source(const Place& where) const;
  T* residual_gradient(const Place& where) const {
    return diff_residual_ == nullptr ? nullptr : diff_residual_ + where.offset;
  }

  const Operation operation_;
  const ColumnKernels<T>& kernels_;
  const Kernels& all_kernels_;
  std::int64_t batch_, channels_, padded_;
  ChannelLayout layout_;
  BufferId src_buffer_, dst_buffer_, residual_buffer_ = -1, nodes_forward_ = -1,
                                     nodes_backward_ = -1, passed_buffer_ = -1;
  BufferId diff_first_ = -1, diff_second_ = -1, diff_src_buffer_ = -1, diff_residual_buffer_ = -1;
  const T* src_ = nullptr;
  const T* residual_ = nullptr;
  T* dst_ = nullptr;
  PassedBits* passed_ = nullptr;
  const T* first_ = nullptr;
  const T* second_ = nullptr;
  T* diff_src_ = nullptr;
  T* diff_residual_ = nullptr;
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

template <class T>
BatchNormLayer<T>::BatchNormLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels().on<T>()),
      all_kernels_(planner.kernels()),
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
  if (!planner.training()) return;
  if (operation.relu) {
    const std::int64_t rows = batch_ * layout_.blocks * layout_.rows;
    passed_buffer_ =
        planner.kept(rows * static_cast<std::int64_t>(sizeof(PassedBits)), "signs of activations");
  }
  nodes_forward_ = planner.temporary(GroupReduction::bytes(planner.groups(), padded_),
                                     planner.forward_moment(), "batch-norm sums");
}

/// Gradients take the places of those that they are made of, where there are enough.
template <class T>
void BatchNormLayer<T>::plan_backward(Planner& planner) {
  nodes_backward_ = planner.temporary(GroupReduction::bytes(planner.groups(), padded_),
                                      planner.backward_moment(), "batch-norm sums");
  diff_first_ = diff_src_buffer_ = planner.incoming().front();
  planner.contribute_in(operation_.src, diff_first_);
  if (planner.incoming().size() > 1) diff_second_ = planner.incoming()[1];
  if (operation_.residual) {
    diff_residual_buffer_ = diff_second_;
    if (diff_second_ >= 0) {
      planner.contribute_in(*operation_.residual, diff_second_);
    } else {
      diff_residual_buffer_ = planner.contribute(*operation_.residual);
    }
  }
  gamma_target_.plan(planner, channels_ * static_cast<std::int64_t>(sizeof(float)));
  beta_target_.plan(planner, channels_ * static_cast<std::int64_t>(sizeof(float)));
}

template <class T>
void BatchNormLayer<T>::bind(const Arena& arena) {
  src_ = arena.at<T>(src_buffer_);
  dst_ = arena.at<T>(dst_buffer_);
  residual_ = arena.at<T>(residual_buffer_);
  passed_ = arena.at<PassedBits>(passed_buffer_);
  first_ = arena.at<T>(diff_first_);
  second_ = arena.at<T>(diff_second_);
  diff_src_ = arena.at<T>(diff_src_buffer_);
  diff_residual_ = arena.at<T>(diff_residual_buffer_);
  forward_memory_ = arena.at<double>(nodes_forward_);
  backward_memory_ = arena.at<double>(nodes_backward_);
  gamma_ = arena.parameters.weights(operation_.weights);
  beta_ = arena.parameters.weights(operation_.bias);
  gamma_target_.bind(arena, operation_.weights, all_kernels_);
  beta_target_.bind(arena, operation_.bias, all_kernels_);
  statistics_ = &arena.statistics;
  groups_ = arena.groups;
  if (groups_ != nullptr) reduction_.emplace(*groups_, arena.exchange, padded_, layout_.rows);
  const std::size_t size = group_base(std::max<std::size_t>(group_count(), 1));
  for (auto* array : {&mean_, &inverse_deviation_, &scale_, &shift_, &slope_, &offset_, &tilt_}) {
    array->assign(size, 0.0F);
  }
}

template <class T>
template <class Body>
void BatchNormLayer<T>::for_each_column(const Body& body) const {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t sample = 0; sample < batch_; ++sample) {
    for (std::int64_t block = 0; block < layout_.blocks; ++block) body(place(sample, block));
  }
}

template <class T>
template <class Body>
void BatchNormLayer<T>::for_each_unit(const Body& body) const {
  const auto groups = static_cast<std::int64_t>(group_count());
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t block = 0; block < layout_.blocks; ++block) {
      body(static_cast<std::size_t>(group), block);
    }
  }
}

template <class T>
template <class Body>
void BatchNormLayer<T>::for_each_sample(std::size_t group, std::int64_t block,
                                        const Body& body) const {
  const BatchGroup& plan = groups_->groups[group];
  for (std::int64_t i = 0; i < plan.local_count; ++i) {
    body(place(plan.local_first + i, block));
  }
}

/// Whether sums and what follows from them can be done 16 channels after 16 channels, so that the
/// second look at `arrays` activations finds them in the cache: no group is shared, there is work
/// for every thread, and a group's channels are few enough.
template <class T>
bool BatchNormLayer<T>::stays_in_cache(std::int64_t arrays) const {
  std::int64_t largest = 0;
  for (const BatchGroup& group : groups_->groups) {
    if (group.shared) return false;
    largest = std::max(largest, group.size);
  }
  const std::int64_t units = static_cast<std::int64_t>(groups_->groups.size()) * layout_.blocks;
  const std::int64_t unit_bytes =
      largest * layout_.rows * layout_.width * static_cast<std::int64_t>(sizeof(T)) * arrays;
  static const std::int64_t cache = cached_bytes();
  return units >= 2 * omp_get_max_threads() && unit_bytes <= cache;
}

template <class T>
void BatchNormLayer<T>::forward(Mode mode) {
  by_group_ = mode == Mode::kTraining;
  if (by_group_) return forward_groups();
  take_running_statistics(mode);
  for_each_column([this](const Place& where) { normalize(where); });
}

template <class T>
void BatchNormLayer<T>::forward_groups() {
  inference_version_ = -1;
  reduction_->start(forward_memory_);
  if (stays_in_cache(operation_.residual ? 2 : 1)) {
    for_each_unit([this](std::size_t group, std::int64_t block) {
      for_each_sample(group, block, [this](const Place& where) { take_moments(where); });
      const std::int64_t first = block * layout_.width;
      reduction_->reduce_channels(Reduction::kMoments, group, first, layout_.width);
      set_forward_factors(group, first, std::min<std::int64_t>(layout_.width, channels_ - first));
      for_each_sample(group, block, [this](const Place& where) { normalize(where); });
    });
  } else {
    for_each_column([this](const Place& where) { take_moments(where); });
    reduction_->reduce_local(Reduction::kMoments);
    reduction_->reduce_shared(Reduction::kMoments);
    for (std::size_t group = 0; group < group_count(); ++group) {
      set_forward_factors(group, 0, channels_);
    }
    for_each_column([this](const Place& where) { normalize(where); });
  }
  for (std::size_t group = 0; group < group_count(); ++group) record_statistics(group);
}

template <class T>
void BatchNormLayer<T>::take_moments(const Place& where) const {
  double* const sums = node(where);
  kernels_.moments(src_ + where.offset, layout_.column(where.block), sums, sums + padded_);
}

template <class T>
void BatchNormLayer<T>::set_forward_factors(std::size_t group, std::int64_t first,
                                            std::int64_t count) {
  const double* const mean = reduction_->root(group);
  const double* const squares = mean + padded_;
  const auto points = static_cast<double>(groups_->groups[group].size * layout_.rows);
  for (std::int64_t c = first; c < first + count; ++c) {
    const std::size_t at = group_base(group) + static_cast<std::size_t>(c);
    const double inverse = 1.0 / std::sqrt(squares[c] / points + operation_.epsilon);
    mean_[at] = static_cast<float>(mean[c]);
    inverse_deviation_[at] = static_cast<float>(inverse);
    scale_[at] = static_cast<float>(inverse * static_cast<double>(gamma_[c]));
    shift_[at] = beta_[c];
  }
}

template <class T>
void BatchNormLayer<T>::record_statistics(std::size_t group) const {
  const BatchGroup& plan = groups_->groups[group];
  if (!plan.owned) return;
  const double* const mean = reduction_->root(group);
  const std::int64_t points = plan.size * layout_.rows;
  std::vector<double> variance(mean + padded_, mean + padded_ + channels_);
  for (double& value : variance) value /= static_cast<double>(points);
  statistics_->add_group(operation_.statistics, {mean, static_cast<std::size_t>(channels_)},
                         variance, points);
}

template <class T>
void BatchNormLayer<T>::take_running_statistics(Mode mode) {
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

template <class T>
void BatchNormLayer<T>::normalize(const Place& where) const {
  kernels_.normalize(src_ + where.offset, residual_ == nullptr ? nullptr : residual_ + where.offset,
                     dst_ + where.offset, passed(where), layout_.column(where.block),
                     &mean_[where.at], &scale_[where.at], &shift_[where.at], operation_.relu);
}

template <class T>
GradientSource<T> BatchNormLayer<T>::gradient_source(const Place& where) const {
  return {first_ + where.offset, second_ == nullptr ? nullptr : second_ + where.offset,
          passed(where)};
}

template <class T>
void BatchNormLayer<T>::backward(bool accumulate) {
  reduction_->start(backward_memory_);
  if (by_group_) {
    backward_groups(accumulate);
  } else {
    backward_frozen(accumulate);
  }
}

template <class T>
void BatchNormLayer<T>::backward_groups(bool accumulate) {
  if (stays_in_cache(second_ == nullptr ? 2 : 3)) {
    for_each_unit([this](std::size_t group, std::int64_t block) {
      for_each_sample(group, block, [this](const Place& where) { sum_gradients(where); });
      const std::int64_t first = block * layout_.width;
      reduction_->reduce_channels(Reduction::kSums, group, first, layout_.width);
      set_gradient_factors(group, first, std::min<std::int64_t>(layout_.width, channels_ - first));
      for_each_sample(group, block, [this](const Place& where) { apply_gradient(where); });
    });
    store_parameter_gradients(accumulate);
    return;
  }
  for_each_column([this](const Place& where) { sum_gradients(where); });
  reduction_->reduce_local(Reduction::kSums);
  store_parameter_gradients(accumulate);
  reduction_->reduce_shared(Reduction::kSums);
  for (std::size_t group = 0; group < group_count(); ++group) {
    set_gradient_factors(group, 0, channels_);
  }
  for_each_column([this](const Place& where) { apply_gradient(where); });
}

template <class T>
void BatchNormLayer<T>::sum_gradients(const Place& where) const {
  double* const sums = node(where);
  kernels_.gradient_sums(src_ + where.offset, gradient_source(where), layout_.column(where.block),
                         &mean_[where.at], sums, sums + padded_);
}

template <class T>
void BatchNormLayer<T>::store_parameter_gradients(bool accumulate) {
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

template <class T>
void BatchNormLayer<T>::set_gradient_factors(std::size_t group, std::int64_t first,
                                             std::int64_t count) {
  const double* const sum = reduction_->root(group);
  const double* const product = sum + padded_;
  const double points = static_cast<double>(groups_->groups[group].size * layout_.rows);
  for (std::int64_t c = first; c < first + count; ++c) {
    const std::size_t at = group_base(group) + static_cast<std::size_t>(c);
    const double inverse = static_cast<double>(inverse_deviation_[at]);
    const double slope = inverse * static_cast<double>(gamma_[c]);
    slope_[at] = static_cast<float>(slope);
    offset_[at] = static_cast<float>(slope * sum[c] / points);
    tilt_[at] = static_cast<float>(slope * inverse * inverse * product[c] / points);
  }
}

template <class T>
void BatchNormLayer<T>::apply_gradient(const Place& where) const {
  kernels_.gradient_apply(src_ + where.offset, gradient_source(where), diff_src_ + where.offset,
                          residual_gradient(where), layout_.column(where.block), &mean_[where.at],
                          &slope_[where.at], &offset_[where.at], &tilt_[where.at]);
}

/// Fixed statistics do not depend on the source: its gradient is the output's, scaled as forward.
template <class T>
void BatchNormLayer<T>::backward_frozen(bool accumulate) {
  for_each_column([this](const Place& where) {
    double* const sums = node(where);
    kernels_.gradient_frozen(src_ + where.offset, gradient_source(where), diff_src_ + where.offset,
                             residual_gradient(where), layout_.column(where.block),
                             &mean_[where.at], &scale_[where.at], sums, sums + padded_);
  });
  reduction_->reduce_local(Reduction::kSums);
  store_parameter_gradients(accumulate);
}

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const Operation& operation, Planner& planner) {
  if (planner.value_desc(operation.src).data_type() == dnnl::memory::data_type::bf16) {
    return std::make_unique<BatchNormLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<BatchNormLayer<float>>(operation, planner);
}

}  // namespace nn
