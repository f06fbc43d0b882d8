// Batch norm with residual sum and ReLU, over groups of samples that may lie on several ranks.
// Hides the order in which activations are gone over: sums are GroupReduction's, what is made of
// them BatchNormFactors'.
#include <algorithm>
#include <optional>

#include "workloads/nn/batch_norm_factors.h"
#include "workloads/nn/batch_norm_output.h"
#include "workloads/nn/group_reduction.h"
#include "workloads/nn/layer.h"

namespace nn {
namespace {

template <class T>
class BatchNormLayer final : public Layer {
 public:
  BatchNormLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode, const Samples& samples) override;
  void backward(bool accumulate, const Samples& samples) override;
  void remake(const Samples& samples) override;
  void observe(const Samples& samples) override;
  void settle() override;
  void observe_gradient(const Samples& samples) override;
  void settle_gradient(bool accumulate) override;
  bool adds_gradients() const override { return true; }

 private:
  using Output = BatchNormOutput<T>;
  NormColumn place(std::int64_t sample, std::int64_t block, std::int64_t piece) const {
    const std::size_t group = factors_.by_group() ? reduction_->group_of(sample) : 0;
    return {sample, block, piece,
            layout_.offset(sample, block) + layout_.first_row(piece) * layout_.row_stride,
            factors_.base(group) + static_cast<std::size_t>(block * layout_.width)};
  }
  Column column(const NormColumn& where) const { return layout_.column(where.block, where.piece); }
  /// Calls body(place) for every column's pieces of these samples.
  template <class Body>
  void for_each_column(const Samples& samples, const Body& body) const;
  /// The same, after which the nodes of these samples are whole.
  template <class Body>
  void sum_columns(Reduction reduction, const Samples& samples, const Body& body) const;
  /// Calls body(place) for all samples of a group's channels of a block, which are no pieces: only
  /// wide columns are cut, and of those no few channels are gone over alone.
  template <class Body>
  void for_each_sample(std::size_t group, std::int64_t block, const Body& body) const;
  /// The same, after which the group's sums of these channels stand at its root.
  template <class Body>
  void sum_samples(Reduction reduction, std::size_t group, std::int64_t block,
                   const Body& body) const;
  /// Calls body(group, block) for each group and block of channels.
  template <class Body>
  void for_each_unit(const Body& body) const;
  /// Calls body(i, first channel, channels) for each i below `count` and some channels that
  /// together are all that are summed.
  template <class Body>
  void for_channels_of(std::int64_t count, const Body& body) const;
  /// Calls body(group, first, count) for channels that together are all of each group's, once the
  /// group's sums stand at its root. `before_exchange` is called when this rank's sums are ready.
  template <class BeforeExchange, class Body>
  void reduce(Reduction reduction, const BeforeExchange& before_exchange, const Body& body);

  std::int64_t channels_of(std::int64_t block) const {
    return std::min<std::int64_t>(layout_.width, channels_ - block * layout_.width);
  }
  /// The same with those that fill a node.
  std::int64_t padded_of(std::int64_t block) const {
    return std::min<std::int64_t>(layout_.width, padded_ - block * layout_.width);
  }
  /// Of signs, in the widest column.
  std::int64_t words_of_row() const {
    constexpr std::int64_t kBits = 16;
    return (layout_.width + kBits - 1) / kBits;
  }
  std::int64_t column_signs() const { return layout_.rows * words_of_row(); }
  double* node(const NormColumn& where) const {
    return reduction_->piece_node(where.sample, where.piece) + where.block * layout_.width;
  }
  PassedBits* passed(const NormColumn& where) const {
    if (passed_ == nullptr) return nullptr;
    return passed_ + (where.sample * layout_.blocks + where.block) * column_signs() +
           layout_.first_row(where.piece) * words_of_row();
  }
  void start_forward();
  void take_moments(const NormColumn& where) const;
  void forward_by_channels();
  void sum_gradients(const NormColumn& where) const;
  void apply_gradient(const NormColumn& where) const;
  void backward_by_channels(bool accumulate);
  void backward_frozen(const NormColumn& where) const;
  /// `gate` is where the normalization that masks is kept, if one does.
  GradientSource<T> gradient_source(const NormColumn& where, Normalization& gate) const;
  /// Whether the source tells what passed the ReLU: without a residual it does.
  bool is_gated() const { return operation_.relu && !operation_.residual; }
  T* kept_gradient(const NormColumn& where) const {
    return kept_ == nullptr ? nullptr : kept_ + where.offset;
  }

  const Operation operation_;
  const ColumnKernels<T>& kernels_;
  const Kernels& all_kernels_;
  std::int64_t batch_, channels_, padded_;
  ChannelLayout layout_;
  BufferId nodes_forward_ = -1, nodes_backward_ = -1, passed_buffer_ = -1;
  BufferId diff_first_ = -1, diff_second_ = -1, diff_src_buffer_ = -1, kept_buffer_ = -1;
  bool observes_forward_, observes_backward_ = false;
  BatchNormOutput<T> output_;
  const T* src_ = nullptr;  ///< that the backward pass reads
  PassedBits* passed_ = nullptr;
  const T* first_ = nullptr;
  const T* second_ = nullptr;
  T* diff_src_ = nullptr;
  T* kept_ = nullptr;  ///< the sum of the gradient's parts, masked
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
      layout_(planner.row_layout(planner.value_desc(operation.src))),
      observes_forward_(planner.observes(Direction::kForward)) {
  // Not of wide columns, which are filled up to whole lines: ranks exchange nodes.
  padded_ = channel_layout(planner.value_desc(operation.src)).padded_channels();
  factors_.plan(operation, padded_, layout_.rows);
  output_.plan(operation, planner, factors_);
  const dnnl::memory::desc parameter = plain_desc({channels_});
  planner.set_parameter_desc(operation.weights, parameter);
  planner.set_parameter_desc(operation.bias, parameter);
  if (!planner.training()) return;
  if (operation.relu && !is_gated()) {
    const std::int64_t signs = batch_ * layout_.blocks * column_signs();
    passed_buffer_ =
        planner.kept(signs * static_cast<std::int64_t>(sizeof(PassedBits)), "signs of activations");
  }
  nodes_forward_ =
      planner.temporary(GroupReduction::bytes(planner.groups(), padded_, layout_.pieces),
                        planner.forward_observation(), planner.forward_moment(), "batch-norm sums");
}

/// Where parts of the gradient are added up, or a residual takes it on, the sum is kept in place of
/// a part; the gradient of the source takes the source's place, or that of a part.
template <class T>
void BatchNormLayer<T>::plan_backward(Planner& planner) {
  nodes_backward_ = planner.temporary(
      GroupReduction::bytes(planner.groups(), padded_, layout_.pieces),
      planner.backward_observation(), planner.backward_moment(), "batch-norm sums");
  observes_backward_ = planner.observes(Direction::kBackward);
  diff_first_ = planner.incoming().front();
  if (planner.incoming().size() > 1) diff_second_ = planner.incoming()[1];
  if (operation_.residual || diff_second_ >= 0) {
    kept_buffer_ = diff_second_ >= 0 ? diff_second_ : diff_first_;
  }
  if (operation_.residual) planner.contribute_in(*operation_.residual, kept_buffer_);
  const ValuePlace& src = output_.place_again();
  if (operation_.src != 0 && planner.is_read_once(operation_.src) && !src.is_slice) {
    diff_src_buffer_ = src.buffer;
  } else if (kept_buffer_ != diff_first_) {
    diff_src_buffer_ = diff_first_;
  }
  if (diff_src_buffer_ >= 0) {
    planner.contribute_in(operation_.src, diff_src_buffer_);
  } else {
    diff_src_buffer_ = planner.contribute(operation_.src);
  }
  factors_.plan_backward(planner);
}

template <class T>
void BatchNormLayer<T>::bind(const Arena& arena) {
  output_.bind(arena, kernels_);
  src_ = output_.source_again();
  passed_ = arena.at<PassedBits>(passed_buffer_);
  first_ = arena.at<T>(diff_first_);
  second_ = arena.at<T>(diff_second_);
  diff_src_ = arena.at<T>(diff_src_buffer_);
  kept_ = arena.at<T>(kept_buffer_);
  forward_memory_ = arena.at<double>(nodes_forward_);
  backward_memory_ = arena.at<double>(nodes_backward_);
  factors_.bind(arena, all_kernels_);
  groups_ = arena.groups;
  if (groups_ == nullptr) return;
  std::vector<std::int64_t> piece_rows;
  for (std::int64_t piece = 0; piece < layout_.pieces; ++piece) {
    piece_rows.push_back(layout_.column(0, piece).rows);
  }
  reduction_.emplace(*groups_, arena.exchange, padded_, piece_rows);
}

template <class T>
template <class Body>
void BatchNormLayer<T>::for_each_column(const Samples& samples, const Body& body) const {
  const std::int64_t end = samples.first + samples.count;
#pragma omp parallel for collapse(3) schedule(static)
  for (std::int64_t sample = samples.first; sample < end; ++sample) {
    for (std::int64_t piece = 0; piece < layout_.pieces; ++piece) {
      for (std::int64_t block = 0; block < layout_.blocks; ++block) {
        body(place(sample, block, piece));
      }
    }
  }
}

template <class T>
template <class Body>
void BatchNormLayer<T>::sum_columns(Reduction reduction, const Samples& samples,
                                    const Body& body) const {
  for_each_column(samples, body);
  if (layout_.pieces == 1) return;
  for_channels_of(samples.count, [&](std::int64_t i, std::int64_t first, std::int64_t count) {
    reduction_->join_pieces(reduction, samples.first + i, first, count);
  });
}

template <class T>
template <class Body>
void BatchNormLayer<T>::for_each_unit(const Body& body) const {
  const auto groups = static_cast<std::int64_t>(groups_->groups.size());
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
    body(place(plan.local_first + i, block, 0));
  }
}

template <class T>
template <class Body>
void BatchNormLayer<T>::sum_samples(Reduction reduction, std::size_t group, std::int64_t block,
                                    const Body& body) const {
  for_each_sample(group, block, body);
  reduction_->reduce_local(reduction, group, block * layout_.width, padded_of(block));
}

template <class T>
template <class Body>
void BatchNormLayer<T>::for_channels_of(std::int64_t count, const Body& body) const {
  constexpr std::int64_t kChannels = 64;
  const std::int64_t all = layout_.padded ? padded_ : channels_;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t first = 0; first < all; first += kChannels) {
      body(i, first, std::min(kChannels, all - first));
    }
  }
}

template <class T>
template <class BeforeExchange, class Body>
void BatchNormLayer<T>::reduce(Reduction reduction, const BeforeExchange& before_exchange,
                               const Body& body) {
  const auto groups = static_cast<std::int64_t>(groups_->groups.size());
  for_channels_of(groups, [&](std::int64_t group, std::int64_t first, std::int64_t count) {
    reduction_->reduce_local(reduction, static_cast<std::size_t>(group), first, count);
  });
  before_exchange();
  reduction_->reduce_shared(reduction);
  for_channels_of(groups, [&](std::int64_t group, std::int64_t first, std::int64_t count) {
    const std::int64_t end = std::min(first + count, channels_);
    if (first < end) body(static_cast<std::size_t>(group), first, end - first);
  });
}

template <class T>
void BatchNormLayer<T>::start_forward() {
  factors_.start_groups();
  reduction_->start(forward_memory_);
}

template <class T>
void BatchNormLayer<T>::take_moments(const NormColumn& where) const {
  double* const sums = node(where);
  kernels_.moments(output_.source() + where.offset, column(where), sums, sums + padded_);
}

template <class T>
void BatchNormLayer<T>::observe(const Samples& samples) {
  if (samples.first == 0) start_forward();
  sum_columns(Reduction::kMoments, samples,
              [this](const NormColumn& where) { take_moments(where); });
}

template <class T>
void BatchNormLayer<T>::settle() {
  reduce(
      Reduction::kMoments, [] {},
      [this](std::size_t group, std::int64_t first, std::int64_t count) {
        factors_.set_forward(*reduction_, group, first, count);
      });
  factors_.record(*reduction_);
}

template <class T>
void BatchNormLayer<T>::forward_by_channels() {
  start_forward();
  for_each_unit([this](std::size_t group, std::int64_t block) {
    sum_samples(Reduction::kMoments, group, block,
                [this](const NormColumn& where) { take_moments(where); });
    factors_.set_forward(*reduction_, group, block * layout_.width, channels_of(block));
    if (output_.is_deferred()) return;
    for_each_sample(group, block, [this](const NormColumn& where) {
      output_.write(Output::Pass::kForward, {0, batch_}, where, passed(where));
    });
  });
  factors_.record(*reduction_);
}

template <class T>
void BatchNormLayer<T>::forward(Mode mode, const Samples& samples) {
  if (mode == Mode::kTraining && !observes_forward_) return forward_by_channels();
  if (mode != Mode::kTraining && samples.first == 0) factors_.take_running(mode);
  if (output_.is_deferred()) return;
  for_each_column(samples, [&](const NormColumn& where) {
    output_.write(Output::Pass::kForward, samples, where, passed(where));
  });
}

template <class T>
void BatchNormLayer<T>::remake(const Samples& samples) {
  for_each_column(samples, [&](const NormColumn& where) {
    output_.write(Output::Pass::kAgain, samples, where, nullptr);
  });
}

template <class T>
GradientSource<T> BatchNormLayer<T>::gradient_source(const NormColumn& where,
                                                     Normalization& gate) const {
  GradientSource<T> source = {first_ + where.offset,
                              second_ == nullptr ? nullptr : second_ + where.offset, passed(where)};
  if (is_gated()) {
    gate = factors_.norm(where.at);
    source.gate = &gate;
  }
  return source;
}

template <class T>
void BatchNormLayer<T>::sum_gradients(const NormColumn& where) const {
  double* const sums = node(where);
  Normalization gate;
  kernels_.gradient_sums(src_ + where.offset, gradient_source(where, gate), kept_gradient(where),
                         column(where), factors_.norm(where.at).mean, sums, sums + padded_);
}

template <class T>
void BatchNormLayer<T>::observe_gradient(const Samples& samples) {
  if (samples.first == 0) reduction_->start(backward_memory_);
  sum_columns(Reduction::kSums, samples, [this](const NormColumn& where) { sum_gradients(where); });
}

template <class T>
void BatchNormLayer<T>::settle_gradient(bool accumulate) {
  reduce(
      Reduction::kSums, [&] { factors_.store_parameter_gradients(*reduction_, accumulate); },
      [this](std::size_t group, std::int64_t first, std::int64_t count) {
        factors_.set_backward(*reduction_, group, first, count);
      });
}

template <class T>
void BatchNormLayer<T>::apply_gradient(const NormColumn& where) const {
  Normalization gate;
  const GradientSource<T> gradient =
      kept_ == nullptr ? gradient_source(where, gate)
                       : GradientSource<T>{kept_gradient(where), nullptr, nullptr};
  kernels_.gradient_apply(src_ + where.offset, gradient, diff_src_ + where.offset, column(where),
                          factors_.norm(where.at).mean, factors_.slope(where.at),
                          factors_.offset(where.at), factors_.tilt(where.at));
}

template <class T>
void BatchNormLayer<T>::backward_by_channels(bool accumulate) {
  reduction_->start(backward_memory_);
  for_each_unit([this](std::size_t group, std::int64_t block) {
    sum_samples(Reduction::kSums, group, block,
                [this](const NormColumn& where) { sum_gradients(where); });
    factors_.set_backward(*reduction_, group, block * layout_.width, channels_of(block));
    for_each_sample(group, block, [this](const NormColumn& where) { apply_gradient(where); });
  });
  factors_.store_parameter_gradients(*reduction_, accumulate);
}

template <class T>
void BatchNormLayer<T>::backward(bool accumulate, const Samples& samples) {
  if (factors_.by_group()) {
    if (!observes_backward_) return backward_by_channels(accumulate);
    for_each_column(samples, [this](const NormColumn& where) { apply_gradient(where); });
    return;
  }
  if (samples.first == 0) reduction_->start(backward_memory_);
  sum_columns(Reduction::kSums, samples,
              [this](const NormColumn& where) { backward_frozen(where); });
  if (samples.first + samples.count < batch_) return;
  reduce(
      Reduction::kSums, [&] { factors_.store_parameter_gradients(*reduction_, accumulate); },
      [](std::size_t, std::int64_t, std::int64_t) {});
}

/// Fixed statistics do not depend on the source: its gradient is the output's, scaled as forward.
template <class T>
void BatchNormLayer<T>::backward_frozen(const NormColumn& where) const {
  double* const sums = node(where);
  const Normalization norm = factors_.norm(where.at);
  Normalization gate;
  kernels_.gradient_frozen(src_ + where.offset, gradient_source(where, gate),
                           diff_src_ + where.offset, kept_gradient(where), column(where), norm.mean,
                           norm.scale, sums, sums + padded_);
}

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const Operation& operation, Planner& planner) {
  if (planner.value_desc(operation.src).data_type() == dnnl::memory::data_type::bf16) {
    return std::make_unique<BatchNormLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<BatchNormLayer<float>>(operation, planner);
}

}  // namespace nn
