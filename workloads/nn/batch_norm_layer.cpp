// Batch norm with residual sum and ReLU, over groups of samples that may lie on several ranks.
// Hides the order in which activations are gone over: sums are GroupReduction's, what is made of
// them BatchNormFactors'.
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "runner/base/error.h"
#include "workloads/nn/batch_norm_factors.h"
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
    const std::size_t group = factors_.by_group() ? reduction_->group_of(sample) : 0;
    return {sample, block, layout_.offset(sample, block),
            factors_.base(group) + static_cast<std::size_t>(block * layout_.width)};
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
  void normalize(const Place& where) const;
  void sum_gradients(const Place& where) const;
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
  double* forward_memory_ = nullptr;
  double* backward_memory_ = nullptr;
  const BatchGroups* groups_ = nullptr;
  std::optional<GroupReduction> reduction_;  ///< training only
  BatchNormFactors factors_;
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
  factors_.plan(operation, padded_, layout_.rows);
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
  factors_.plan_backward(planner);
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
  factors_.bind(arena, all_kernels_);
  groups_ = arena.groups;
  if (groups_ != nullptr) reduction_.emplace(*groups_, arena.exchange, padded_, layout_.rows);
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
  const auto groups = static_cast<std::int64_t>(factors_.group_count());
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
  if (mode == Mode::kTraining) return forward_groups();
  factors_.take_running(mode);
  for_each_column([this](const Place& where) { normalize(where); });
}

template <class T>
void BatchNormLayer<T>::forward_groups() {
  factors_.start_groups();
  reduction_->start(forward_memory_);
  if (stays_in_cache(operation_.residual ? 2 : 1)) {
    for_each_unit([this](std::size_t group, std::int64_t block) {
      for_each_sample(group, block, [this](const Place& where) { take_moments(where); });
      const std::int64_t first = block * layout_.width;
      reduction_->reduce_channels(Reduction::kMoments, group, first, layout_.width);
      factors_.set_forward(*reduction_, group, first,
                           std::min<std::int64_t>(layout_.width, channels_ - first));
      for_each_sample(group, block, [this](const Place& where) { normalize(where); });
    });
  } else {
    for_each_column([this](const Place& where) { take_moments(where); });
    reduction_->reduce_local(Reduction::kMoments);
    reduction_->reduce_shared(Reduction::kMoments);
    for (std::size_t group = 0; group < factors_.group_count(); ++group) {
      factors_.set_forward(*reduction_, group, 0, channels_);
    }
    for_each_column([this](const Place& where) { normalize(where); });
  }
  for (std::size_t group = 0; group < factors_.group_count(); ++group)
    factors_.record(*reduction_, group);
}

template <class T>
void BatchNormLayer<T>::take_moments(const Place& where) const {
  double* const sums = node(where);
  kernels_.moments(src_ + where.offset, layout_.column(where.block), sums, sums + padded_);
}

template <class T>
void BatchNormLayer<T>::normalize(const Place& where) const {
  kernels_.normalize(src_ + where.offset, residual_ == nullptr ? nullptr : residual_ + where.offset,
                     dst_ + where.offset, passed(where), layout_.column(where.block),
                     factors_.mean(where.at), factors_.scale(where.at), factors_.shift(where.at),
                     operation_.relu);
}

template <class T>
GradientSource<T> BatchNormLayer<T>::gradient_source(const Place& where) const {
  return {first_ + where.offset, second_ == nullptr ? nullptr : second_ + where.offset,
          passed(where)};
}

template <class T>
void BatchNormLayer<T>::backward(bool accumulate) {
  reduction_->start(backward_memory_);
  if (factors_.by_group()) {
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
      factors_.set_backward(*reduction_, group, first,
                            std::min<std::int64_t>(layout_.width, channels_ - first));
      for_each_sample(group, block, [this](const Place& where) { apply_gradient(where); });
    });
    factors_.store_parameter_gradients(*reduction_, accumulate);
    return;
  }
  for_each_column([this](const Place& where) { sum_gradients(where); });
  reduction_->reduce_local(Reduction::kSums);
  factors_.store_parameter_gradients(*reduction_, accumulate);
  reduction_->reduce_shared(Reduction::kSums);
  for (std::size_t group = 0; group < factors_.group_count(); ++group) {
    factors_.set_backward(*reduction_, group, 0, channels_);
  }
  for_each_column([this](const Place& where) { apply_gradient(where); });
}

template <class T>
void BatchNormLayer<T>::sum_gradients(const Place& where) const {
  double* const sums = node(where);
  kernels_.gradient_sums(src_ + where.offset, gradient_source(where), layout_.column(where.block),
                         factors_.mean(where.at), sums, sums + padded_);
}

template <class T>
void BatchNormLayer<T>::apply_gradient(const Place& where) const {
  kernels_.gradient_apply(src_ + where.offset, gradient_source(where), diff_src_ + where.offset,
                          residual_gradient(where), layout_.column(where.block),
                          factors_.mean(where.at), factors_.slope(where.at),
                          factors_.offset(where.at), factors_.tilt(where.at));
}

/// Fixed statistics do not depend on the source: its gradient is the output's, scaled as forward.
template <class T>
void BatchNormLayer<T>::backward_frozen(bool accumulate) {
  for_each_column([this](const Place& where) {
    double* const sums = node(where);
    kernels_.gradient_frozen(src_ + where.offset, gradient_source(where), diff_src_ + where.offset,
                             residual_gradient(where), layout_.column(where.block),
                             factors_.mean(where.at), factors_.scale(where.at), sums,
                             sums + padded_);
  });
  reduction_->reduce_local(Reduction::kSums);
  factors_.store_parameter_gradients(*reduction_, accumulate);
}

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const Operation& operation, Planner& planner) {
  if (planner.value_desc(operation.src).data_type() == dnnl::memory::data_type::bf16) {
    return std::make_unique<BatchNormLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<BatchNormLayer<float>>(operation, planner);
}

}  // namespace nn
