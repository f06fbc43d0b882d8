// A perceptron's last layer with one output: products with one vector, by this project's kernels,
// as oneDNN pads one output to sixteen.
#include "workloads/nn/layers/make_layers.h"
#include "workloads/nn/layers/row_sums.h"
#include "workloads/nn/precision.h"

namespace nn {
namespace {

template <class T>
class ProjectionLayer final : public Layer {
 public:
  ProjectionLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode, const Samples& samples) override;
  void backward(bool accumulate, const Samples& samples) override;

 private:
  const Operation operation_;
  const Kernels& kernels_;
  const std::int64_t batch_, in_;
  const bool has_data_gradient_;
  GradientTarget weights_target_, bias_target_;
  BufferId src_buffer_ = -1, dst_buffer_ = -1, diff_dst_buffer_ = -1, diff_src_buffer_ = -1,
           sums_buffer_ = -1;
  const T* src_ = nullptr;
  float* dst_ = nullptr;
  const float* diff_dst_ = nullptr;
  T* diff_src_ = nullptr;
  float* sums_ = nullptr;  ///< partial sums of the weights' gradient, [pieces, in]
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
};

template <class T>
ProjectionLayer<T>::ProjectionLayer(const Operation& operation, Planner& planner)
    : operation_(operation),
      kernels_(planner.kernels()),
      batch_(planner.batch()),
      in_(planner.network().shape(operation.src).channels),
      has_data_gradient_(planner.network().has_gradient(operation.src)) {
  planner.use_value(operation.src, true);
  planner.define_value(plain_desc({batch_, 1}));
  planner.set_parameter_desc(operation.weights, plain_desc({1, in_}));
  planner.set_parameter_desc(operation.bias, plain_desc({1}));
  src_buffer_ = planner.value_place(operation.src).buffer;
  dst_buffer_ = planner.value_place(planner.made()).buffer;
}

template <class T>
void ProjectionLayer<T>::plan_backward(Planner& planner) {
  diff_dst_buffer_ = planner.incoming().front();
  sums_buffer_ = planner.temporary(sum_pieces(batch_) * in_ * kFloatBytes,
                                   planner.backward_moment(), "scratchpads");
  weights_target_.plan(planner, in_ * kFloatBytes);
  bias_target_.plan(planner, kFloatBytes);
  if (has_data_gradient_) diff_src_buffer_ = planner.contribute(operation_.src);
}

template <class T>
void ProjectionLayer<T>::bind(const Arena& arena) {
  src_ = arena.at<T>(src_buffer_);
  dst_ = arena.at(dst_buffer_);
  weights_ = arena.parameters.weights(operation_.weights);
  bias_ = arena.parameters.weights(operation_.bias);
  if (diff_dst_buffer_ < 0) return;
  diff_dst_ = arena.at(diff_dst_buffer_);
  diff_src_ = arena.at<T>(diff_src_buffer_);
  sums_ = arena.at(sums_buffer_);
  weights_target_.bind(arena, operation_.weights, kernels_);
  bias_target_.bind(arena, operation_.bias, kernels_);
}

template <class T>
void ProjectionLayer<T>::forward(Mode /*mode*/, const Samples& /*samples*/) {
  const FeatureKernels<T>& kernels = kernels_.features<T>();
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < batch_; first += kSumRows) {
    const std::int64_t end = std::min(first + kSumRows, batch_);
    kernels.project_rows(src_ + first * in_, weights_, end - first, in_, dst_ + first);
    for (std::int64_t row = first; row < end; ++row) dst_[row] += *bias_;
  }
}

template <class T>
void ProjectionLayer<T>::backward(bool accumulate, const Samples& /*samples*/) {
  const FeatureKernels<T>& kernels = kernels_.features<T>();
  sum_over_rows(batch_, in_, sums_, weights_target_.begin(accumulate),
                [&](std::int64_t first, std::int64_t rows, float* sums) {
                  T* const diff_src = diff_src_ == nullptr ? nullptr : diff_src_ + first * in_;
                  kernels.project_rows_backward(src_ + first * in_, weights_, diff_dst_ + first,
                                                rows, in_, diff_src, sums);
                });
  weights_target_.finish(accumulate);
  double sum = 0.0;
  for (std::int64_t row = 0; row < batch_; ++row) sum += static_cast<double>(diff_dst_[row]);
  *bias_target_.begin(accumulate) = static_cast<float>(sum);
  bias_target_.finish(accumulate);
}

}  // namespace

std::unique_ptr<Layer> make_projection(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == dnnl::memory::data_type::f32) {
    return std::make_unique<ProjectionLayer<float>>(operation, planner);
  }
  return std::make_unique<ProjectionLayer<Bf16>>(operation, planner);
}

}  // namespace nn
