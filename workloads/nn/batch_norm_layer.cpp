// Batch norm with residual sum and ReLU, over groups of samples that may lie on several ranks.
// Hides the order in which activations are gone over: sums are GroupReduction's, what is made of
// them BatchNormFactors'.
#include <algorithm>
#include <optional>
#include <type_traits>

#include "runner/base/error.h"
#include "workloads/nn/batch_norm_factors.h"
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
  /// Of one pass forward: where a value stands there, `data` being of its first sample.
  template <class U>
  struct Stream {
    U* data = nullptr;
    ValuePlace place;
    void plan(const ValuePlace& from) { place = from; }
    void bind(const Arena& arena) { data = arena.at<std::remove_const_t<U>>(place.buffer); }
  };
  struct Streams {
    Stream<const T> src, residual;
    Stream<T> dst;
  };
  template <class U>
  U* column_of(const Stream<U>& stream, const Place& where, const Samples& slice) const {
    const std::int64_t first = where.sample - stream.place.row_of(where.sample, slice);
    return stream.data + where.offset - layout_.offset(first, 0);
  }
  /// Calls body(place) for every column of these samples.
  template <class Body>
  void for_each_column(const Samples& samples, const Body& body) const;
  /// Calls body(place) for all samples of a group's channels from `first` on.
  template <class Body>
  void for_each_sample(std::size_t group, std::int64_t block, const Body& body) const;
  /// Calls body(group, block) for each group and block of channels.
  template <class Body>
  void for_each_unit(const Body& body) const;
  /// Calls body(group, first, count) for channels that together are all of each group's, once the
  /// group's sums stand at its root. `before_exchange` is called when this rank's sums are ready.
  template <class BeforeExchange, class Body>
  void reduce(Reduction reduction, const BeforeExchange& before_exchange, const Body& body);

  std::int64_t channels_of(std::int64_t block) const {
    return std::min<std::int64_t>(layout_.width, channels_ - block * layout_.width);
  }
  double* node(const Place& where) const {
    return reduction_->sample_node(where.sample) + where.block * layout_.width;
  }
  PassedBits* passed(const Place& where) const {
    if (passed_ == nullptr) return nullptr;
    return passed_ + (where.sample * layout_.blocks + where.block) * layout_.rows;
  }
  void start_forward();
  void take_moments(const Place& where) const;
  void normalize(const Streams& streams, const Samples& slice, const Place& where,
                 PassedBits* passed) const;
  void forward_by_channels();
  void sum_gradients(const Place& where) const;
  void apply_gradient(const Place& where) const;
  void backward_by_channels(bool accumulate);
  void backward_frozen(const Place& where) const;
  /// `gate` is where the normalization that masks is kept, if one does.
  GradientSource<T> gradient_source(const Place& where, Normalization& gate) const;
  /// Whether the source tells what passed the ReLU: without a residual it does.
  bool is_gated() const { return operation_.relu && !operation_.residual; }
  T* kept_gradient(const Place& where) const {
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
  bool defers_ = false;                                 ///< its only reader normalises on the way
  const BatchNormFactors* residual_factors_ = nullptr;  ///< of a residual that is deferred
  Streams forward_, again_;
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
      layout_(channel_layout(planner.value_desc(operation.src))),
      observes_forward_(planner.observes(Direction::kForward)) {
  padded_ = layout_.padded_channels();
  factors_.plan(operation, padded_, layout_.rows);
  const dnnl::memory::desc& desc = planner.value_desc(operation.src);
  planner.use_value(operation.src, true);
  if (operation.residual) {
    if (planner.value_desc(*operation.residual) != desc) {
      throw base::ShapeError(operation.name + ": residual and source differ in layout");
    }
    const Planner::Deferred& deferred = planner.deferred(*operation.residual);
    residual_factors_ = deferred.factors;
    const ValueId added = residual_factors_ == nullptr ? *operation.residual : deferred.source;
    planner.use_value(added, false);
    forward_.residual.plan(planner.value_place(added));
    again_.residual.plan(planner.value_again(added));
  }
  defers_ = is_deferred(planner.network(), static_cast<std::size_t>(planner.made()));
  if (defers_) {
    planner.defer_value(&factors_, operation.src);
  } else {
    planner.define_value(desc);
  }
  const dnnl::memory::desc parameter = plain_desc({channels_});
  planner.set_parameter_desc(operation.weights, parameter);
  planner.set_parameter_desc(operation.bias, parameter);
  forward_.src.plan(planner.value_place(operation.src));
  forward_.dst.plan(planner.value_place(planner.made()));
  again_.src.plan(planner.value_again(operation.src));
  again_.dst.plan(planner.value_again(planner.made()));
  if (!planner.training()) return;
  if (operation.relu && !is_gated()) {
    const std::int64_t rows = batch_ * layout_.blocks * layout_.rows;
    passed_buffer_ =
        planner.kept(rows * static_cast<std::int64_t>(sizeof(PassedBits)), "signs of activations");
  }
  nodes_forward_ =
      planner.temporary(GroupReduction::bytes(planner.groups(), padded_),
                        planner.forward_observation(), planner.forward_moment(), "batch-norm sums");
}

/// Where parts of the gradient are added up, or a residual takes it on, the sum is kept in place of
/// a part; the gradient of the source takes the source's place, or that of a part.
template <class T>
void BatchNormLayer<T>::plan_backward(Planner& planner) {
  nodes_backward_ = planner.temporary(GroupReduction::bytes(planner.groups(), padded_),
                                      planner.backward_observation(), planner.backward_moment(),
                                      "batch-norm sums");
  observes_backward_ = planner.observes(Direction::kBackward);
  diff_first_ = planner.incoming().front();
  if (planner.incoming().size() > 1) diff_second_ = planner.incoming()[1];
  if (operation_.residual || diff_second_ >= 0) {
    kept_buffer_ = diff_second_ >= 0 ? diff_second_ : diff_first_;
  }
  if (operation_.residual) planner.contribute_in(*operation_.residual, kept_buffer_);
  const ValuePlace& src = again_.src.place;
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
  for (Streams* const streams : {&forward_, &again_}) {
    streams->src.bind(arena);
    streams->residual.bind(arena);
    streams->dst.bind(arena);
  }
  src_ = again_.src.data;
  passed_ = arena.at<PassedBits>(passed_buffer_);
  first_ = arena.at<T>(diff_first_);
  second_ = arena.at<T>(diff_second_);
  diff_src_ = arena.at<T>(diff_src_buffer_);
  kept_ = arena.at<T>(kept_buffer_);
  forward_memory_ = arena.at<double>(nodes_forward_);
  backward_memory_ = arena.at<double>(nodes_backward_);
  factors_.bind(arena, all_kernels_);
  groups_ = arena.groups;
  if (groups_ != nullptr) reduction_.emplace(*groups_, arena.exchange, padded_, layout_.rows);
}

template <class T>
template <class Body>
void BatchNormLayer<T>::for_each_column(const Samples& samples, const Body& body) const {
  const std::int64_t end = samples.first + samples.count;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t sample = samples.first; sample < end; ++sample) {
    for (std::int64_t block = 0; block < layout_.blocks; ++block) body(place(sample, block));
  }
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
  for (std::int64_t i = 0; i < plan.local_count; ++i) body(place(plan.local_first + i, block));
}

template <class T>
template <class BeforeExchange, class Body>
void BatchNormLayer<T>::reduce(Reduction reduction, const BeforeExchange& before_exchange,
                               const Body& body) {
  for_each_unit([&](std::size_t group, std::int64_t block) {
    reduction_->reduce_local(reduction, group, block * layout_.width, layout_.width);
  });
  before_exchange();
  reduction_->reduce_shared(reduction);
  for_each_unit([&](std::size_t group, std::int64_t block) {
    body(group, block * layout_.width, channels_of(block));
  });
}

template <class T>
void BatchNormLayer<T>::start_forward() {
  factors_.start_groups();
  reduction_->start(forward_memory_);
}

template <class T>
void BatchNormLayer<T>::take_moments(const Place& where) const {
  double* const sums = node(where);
  kernels_.moments(forward_.src.data + where.offset, layout_.column(where.block), sums,
                   sums + padded_);
}

template <class T>
void BatchNormLayer<T>::observe(const Samples& samples) {
  if (samples.first == 0) start_forward();
  for_each_column(samples, [this](const Place& where) { take_moments(where); });
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
    for_each_sample(group, block, [this](const Place& where) { take_moments(where); });
    const std::int64_t first = block * layout_.width;
    reduction_->reduce_local(Reduction::kMoments, group, first, layout_.width);
    factors_.set_forward(*reduction_, group, first, channels_of(block));
    if (defers_) return;
    for_each_sample(group, block, [this](const Place& where) {
      normalize(forward_, {0, batch_}, where, passed(where));
    });
  });
  factors_.record(*reduction_);
}

template <class T>
void BatchNormLayer<T>::forward(Mode mode, const Samples& samples) {
  if (mode == Mode::kTraining && !observes_forward_) return forward_by_channels();
  if (mode != Mode::kTraining && samples.first == 0) factors_.take_running(mode);
  if (defers_) return;
  for_each_column(samples,
                  [&](const Place& where) { normalize(forward_, samples, where, passed(where)); });
}

template <class T>
void BatchNormLayer<T>::remake(const Samples& samples) {
  for_each_column(samples, [&](const Place& where) { normalize(again_, samples, where, nullptr); });
}

template <class T>
void BatchNormLayer<T>::normalize(const Streams& streams, const Samples& slice, const Place& where,
                                  PassedBits* passed) const {
  Normalization residual_norm;
  Residual<T> residual;
  if (operation_.residual) residual.src = column_of(streams.residual, where, slice);
  if (residual_factors_ != nullptr) {
    residual_norm = residual_factors_->norm(where.at);
    residual.norm = &residual_norm;
  }
  kernels_.normalize(column_of(streams.src, where, slice), factors_.norm(where.at), residual,
                     column_of(streams.dst, where, slice), passed, layout_.column(where.block),
                     operation_.relu);
}

template <class T>
GradientSource<T> BatchNormLayer<T>::gradient_source(const Place& where,
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
void BatchNormLayer<T>::sum_gradients(const Place& where) const {
  double* const sums = node(where);
  Normalization gate;
  kernels_.gradient_sums(src_ + where.offset, gradient_source(where, gate), kept_gradient(where),
                         layout_.column(where.block), factors_.norm(where.at).mean, sums,
                         sums + padded_);
}

template <class T>
void BatchNormLayer<T>::observe_gradient(const Samples& samples) {
  if (samples.first == 0) reduction_->start(backward_memory_);
  for_each_column(samples, [this](const Place& where) { sum_gradients(where); });
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
void BatchNormLayer<T>::apply_gradient(const Place& where) const {
  Normalization gate;
  const GradientSource<T> gradient =
      kept_ == nullptr ? gradient_source(where, gate)
                       : GradientSource<T>{kept_gradient(where), nullptr, nullptr};
  kernels_.gradient_apply(src_ + where.offset, gradient, diff_src_ + where.offset,
                          layout_.column(where.block), factors_.norm(where.at).mean,
                          factors_.slope(where.at), factors_.offset(where.at),
                          factors_.tilt(where.at));
}

template <class T>
void BatchNormLayer<T>::backward_by_channels(bool accumulate) {
  reduction_->start(backward_memory_);
  for_each_unit([this](std::size_t group, std::int64_t block) {
    for_each_sample(group, block, [this](const Place& where) { sum_gradients(where); });
    const std::int64_t first = block * layout_.width;
    reduction_->reduce_local(Reduction::kSums, group, first, layout_.width);
    factors_.set_backward(*reduction_, group, first, channels_of(block));
    for_each_sample(group, block, [this](const Place& where) { apply_gradient(where); });
  });
  factors_.store_parameter_gradients(*reduction_, accumulate);
}

template <class T>
void BatchNormLayer<T>::backward(bool accumulate, const Samples& samples) {
  if (factors_.by_group()) {
    if (!observes_backward_) return backward_by_channels(accumulate);
    for_each_column(samples, [this](const Place& where) { apply_gradient(where); });
    return;
  }
  if (samples.first == 0) reduction_->start(backward_memory_);
  for_each_column(samples, [this](const Place& where) { backward_frozen(where); });
  if (samples.first + samples.count < batch_) return;
  reduce(
      Reduction::kSums, [&] { factors_.store_parameter_gradients(*reduction_, accumulate); },
      [](std::size_t, std::int64_t, std::int64_t) {});
}

/// Fixed statistics do not depend on the source: its gradient is the output's, scaled as forward.
template <class T>
void BatchNormLayer<T>::backward_frozen(const Place& where) const {
  double* const sums = node(where);
  const Normalization norm = factors_.norm(where.at);
  Normalization gate;
  kernels_.gradient_frozen(src_ + where.offset, gradient_source(where, gate),
                           diff_src_ + where.offset, kept_gradient(where),
                           layout_.column(where.block), norm.mean, norm.scale, sums,
                           sums + padded_);
}

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const Operation& operation, Planner& planner) {
  if (planner.value_desc(operation.src).data_type() == dnnl::memory::data_type::bf16) {
    return std::make_unique<BatchNormLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<BatchNormLayer<float>>(operation, planner);
}

}  // namespace nn
