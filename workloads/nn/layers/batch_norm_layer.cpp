// Batch norm with residual sum and ReLU, over groups of samples that may lie on several ranks: the
// order of sweeps over activations. GroupReduction sums, and BatchNormFactors makes factors from
// sums.
#include "workloads/nn/layers/batch_norm_columns.h"
#include "workloads/nn/layers/batch_norm_output.h"
#include "workloads/nn/layers/make_layers.h"

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
  void recompute(const Samples& samples) override;
  void observe(const Samples& samples) override;
  void settle() override;
  void observe_gradient(const Samples& samples) override;
  void settle_gradient(bool accumulate) override;
  bool adds_gradients() const override { return true; }

 private:
  using Output = BatchNormOutput<T>;
  PassedBits* passed(const NormColumn& where) const {
    if (passed_ == nullptr) return nullptr;
    return passed_ + columns_.signs_before(where);
  }
  void start_forward();
  void take_moments(const NormColumn& where) const;
  void forward_by_channels();
  void sum_gradients(const NormColumn& where) const;
  void apply_gradient(const NormColumn& where) const;
  void backward_by_channels(bool accumulate);
  void backward_frozen(const NormColumn& where) const;
  /// `gate` holds the normalization that masks the gradient, if one does; the result points to it.
  GradientSource<T> gradient_source(const NormColumn& where, Normalization& gate) const;
  /// Whether the source determines what passed the ReLU: it does without a residual.
  bool is_gated() const { return operation_.relu && !operation_.residual; }
  T* kept_gradient(const NormColumn& where) const {
    return kept_ == nullptr ? nullptr : kept_ + where.offset;
  }

  const Operation operation_;
  const ColumnKernels<T>& kernels_;
  const Kernels& all_kernels_;
  const std::int64_t batch_;
  NormColumns columns_;
  BufferId nodes_forward_ = -1, nodes_backward_ = -1, passed_buffer_ = -1;
  BufferId diff_first_ = -1, diff_second_ = -1, diff_src_buffer_ = -1, kept_buffer_ = -1;
  bool observes_forward_, observes_backward_ = false;
  BatchNormOutput<T> output_;
  const T* src_ = nullptr;  ///< as the backward pass reads it
  PassedBits* passed_ = nullptr;
  const T* first_ = nullptr;
  const T* second_ = nullptr;
  T* diff_src_ = nullptr;
  T* kept_ = nullptr;  ///< sum of the gradient's contributions, masked
  double* forward_memory_ = nullptr;
  double* backward_memory_ = nullptr;
  BatchNormFactors factors_;
};

template <class T>
BatchNormLayer<T>::BatchNormLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels().on<T>()),
      all_kernels_(planner.kernels()),
      batch_(planner.batch()),
      // Nodes have the channels of narrow columns: ranks exchange them, and wide columns are padded
      // to whole cache lines.
      columns_(planner.row_layout(planner.value_desc(operation.src)),
               channel_layout(planner.value_desc(operation.src)).padded_channels(), factors_),
      observes_forward_(planner.observes(Pass::kForward)) {
  factors_.plan(operation, columns_.padded(), operation.dst.spatial_size());
  output_.plan(operation, planner, factors_);
  for (const ParameterId id : {operation.weights, operation.bias}) {
    if (id >= 0) planner.set_parameter_desc(id, plain_desc({operation.dst.channels}));
  }
  if (!planner.training()) return;
  if (operation.relu && !is_gated()) {
    const std::int64_t signs = batch_ * columns_.sample_signs();
    passed_buffer_ =
        planner.kept(signs * static_cast<std::int64_t>(sizeof(PassedBits)), "signs of activations");
  }
  nodes_forward_ =
      planner.temporary(columns_.node_bytes(planner.groups()), planner.forward_observation(),
                        planner.forward_moment(), "batch-norm sums");
}

/// The masked gradient is stored if it is a sum of contributions or also a residual's, in the
/// memory of a contribution. The source's gradient replaces the source, or else a contribution, if
/// it can.
template <class T>
void BatchNormLayer<T>::plan_backward(Planner& planner) {
  nodes_backward_ =
      planner.temporary(columns_.node_bytes(planner.groups()), planner.backward_observation(),
                        planner.backward_moment(), "batch-norm sums");
  observes_backward_ = planner.observes(Pass::kBackward);
  diff_first_ = planner.incoming().front();
  if (planner.incoming().size() > 1) diff_second_ = planner.incoming()[1];
  if (operation_.residual || diff_second_ >= 0) {
    kept_buffer_ = diff_second_ >= 0 ? diff_second_ : diff_first_;
  }
  if (operation_.residual) planner.contribute_in(*operation_.residual, kept_buffer_);
  const ValuePlace& src = output_.place_again();
  const Operation& maker = planner.network().operations()[static_cast<std::size_t>(operation_.src)];
  const bool is_free = operation_.src != 0 && planner.is_read_once(operation_.src) &&
                       !src.is_slice && !keeps_output(maker);
  if (is_free) {
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
  if (arena.groups != nullptr) columns_.bind(*arena.groups, arena.exchange);
}

template <class T>
void BatchNormLayer<T>::start_forward() {
  factors_.start_groups();
  columns_.reduction().start(forward_memory_);
}

template <class T>
void BatchNormLayer<T>::take_moments(const NormColumn& where) const {
  double* const sums = columns_.node(where);
  kernels_.moments(output_.source() + where.offset, columns_.column(where), sums,
                   sums + columns_.padded());
}

template <class T>
void BatchNormLayer<T>::observe(const Samples& samples) {
  if (samples.first == 0) start_forward();
  columns_.sum(Reduction::kMoments, samples,
               [this](const NormColumn& where) { take_moments(where); });
}

template <class T>
void BatchNormLayer<T>::settle() {
  columns_.reduce(
      Reduction::kMoments, [] {},
      [this](std::size_t group, std::int64_t first, std::int64_t count) {
        factors_.set_forward(columns_.reduction(), group, first, count);
      });
  factors_.record(columns_.reduction());
}

template <class T>
void BatchNormLayer<T>::forward_by_channels() {
  start_forward();
  columns_.for_each_unit([this](std::size_t group, std::int64_t block) {
    columns_.sum_samples(
        Reduction::kMoments, group, block, [this](const NormColumn& where) { take_moments(where); },
        [this](std::size_t of, std::int64_t first, std::int64_t count) {
          factors_.set_forward(columns_.reduction(), of, first, count);
        });
    if (output_.is_deferred()) return;
    columns_.for_each_sample(group, block, [this](const NormColumn& where) {
      output_.write(Output::Pass::kForward, {0, batch_}, where, passed(where));
    });
  });
  factors_.record(columns_.reduction());
}

template <class T>
void BatchNormLayer<T>::forward(Mode mode, const Samples& samples) {
  if (mode == Mode::kTraining && !observes_forward_) return forward_by_channels();
  if (mode != Mode::kTraining && samples.first == 0) factors_.take_running(mode);
  if (output_.is_deferred()) return;
  columns_.for_each(samples, [&](const NormColumn& where) {
    output_.write(Output::Pass::kForward, samples, where, passed(where));
  });
}

template <class T>
void BatchNormLayer<T>::recompute(const Samples& samples) {
  columns_.for_each(samples, [&](const NormColumn& where) {
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
  double* const sums = columns_.node(where);
  Normalization gate;
  kernels_.gradient_sums(src_ + where.offset, gradient_source(where, gate), kept_gradient(where),
                         columns_.column(where), factors_.norm(where.at).mean, sums,
                         sums + columns_.padded());
}

template <class T>
void BatchNormLayer<T>::observe_gradient(const Samples& samples) {
  if (samples.first == 0) columns_.reduction().start(backward_memory_);
  columns_.sum(Reduction::kSums, samples,
               [this](const NormColumn& where) { sum_gradients(where); });
}

template <class T>
void BatchNormLayer<T>::settle_gradient(bool accumulate) {
  columns_.reduce(
      Reduction::kSums,
      [&] { factors_.store_parameter_gradients(columns_.reduction(), accumulate); },
      [this](std::size_t group, std::int64_t first, std::int64_t count) {
        factors_.set_backward(columns_.reduction(), group, first, count);
      });
}

template <class T>
void BatchNormLayer<T>::apply_gradient(const NormColumn& where) const {
  Normalization gate;
  const GradientSource<T> gradient =
      kept_ == nullptr ? gradient_source(where, gate)
                       : GradientSource<T>{kept_gradient(where), nullptr, nullptr};
  kernels_.gradient_apply(src_ + where.offset, gradient, diff_src_ + where.offset,
                          columns_.column(where), factors_.norm(where.at).mean,
                          factors_.slope(where.at), factors_.offset(where.at),
                          factors_.tilt(where.at));
}

template <class T>
void BatchNormLayer<T>::backward_by_channels(bool accumulate) {
  columns_.reduction().start(backward_memory_);
  columns_.for_each_unit([this](std::size_t group, std::int64_t block) {
    columns_.sum_samples(
        Reduction::kSums, group, block, [this](const NormColumn& where) { sum_gradients(where); },
        [this](std::size_t of, std::int64_t first, std::int64_t count) {
          factors_.set_backward(columns_.reduction(), of, first, count);
        });
    columns_.for_each_sample(group, block,
                             [this](const NormColumn& where) { apply_gradient(where); });
  });
  factors_.store_parameter_gradients(columns_.reduction(), accumulate);
}

template <class T>
void BatchNormLayer<T>::backward(bool accumulate, const Samples& samples) {
  if (factors_.by_group()) {
    if (!observes_backward_) return backward_by_channels(accumulate);
    columns_.for_each(samples, [this](const NormColumn& where) { apply_gradient(where); });
    return;
  }
  if (samples.first == 0) columns_.reduction().start(backward_memory_);
  columns_.sum(Reduction::kSums, samples,
               [this](const NormColumn& where) { backward_frozen(where); });
  if (samples.first + samples.count < batch_) return;
  columns_.reduce(
      Reduction::kSums,
      [&] { factors_.store_parameter_gradients(columns_.reduction(), accumulate); },
      [](std::size_t, std::int64_t, std::int64_t) {});
}

/// Fixed statistics do not depend on the source, whose gradient is therefore the output's times the
/// forward scale.
template <class T>
void BatchNormLayer<T>::backward_frozen(const NormColumn& where) const {
  double* const sums = columns_.node(where);
  const Normalization norm = factors_.norm(where.at);
  Normalization gate;
  kernels_.gradient_frozen(src_ + where.offset, gradient_source(where, gate),
                           diff_src_ + where.offset, kept_gradient(where), columns_.column(where),
                           norm.mean, norm.scale, sums, sums + columns_.padded());
}

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == dnnl::memory::data_type::bf16) {
    return std::make_unique<BatchNormLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<BatchNormLayer<float>>(operation, planner);
}

}  // namespace nn
