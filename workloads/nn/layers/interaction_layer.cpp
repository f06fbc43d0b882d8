// The dot interaction: dot products of all pairs of a sample's feature vectors.
#include <omp.h>

#include "workloads/nn/layers/make_layers.h"
#include "workloads/nn/precision.h"

namespace nn {
namespace {

template <class T>
class InteractionLayer final : public Layer {
 public:
  InteractionLayer(const Operation& operation, Planner& planner);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode mode, const Samples& samples) override;
  void backward(bool accumulate, const Samples& samples) override;

 private:
  BufferId scratch(Planner& planner, int moment) const {
    return planner.temporary(planner.threads() * scratch_floats_ * kFloatBytes, moment,
                             "scratchpads");
  }

  const FeatureKernels<T>& kernels_;
  const FeatureShape shape_;
  const std::int64_t scratch_floats_, features_width_, dst_width_;
  BufferId src_buffer_, features_buffer_, dst_buffer_ = -1, scratch_buffer_,
                                          backward_scratch_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1, diff_features_buffer_ = -1;
  const T* src_ = nullptr;
  const T* features_ = nullptr;
  T* dst_ = nullptr;
  const T* diff_dst_ = nullptr;
  T* diff_src_ = nullptr;
  T* diff_features_ = nullptr;
  float* scratch_ = nullptr;
  float* backward_scratch_ = nullptr;
};

FeatureShape feature_shape(const Operation& operation, const Network& network) {
  const std::int64_t width = network.shape(operation.src).channels;
  return {1 + network.shape(*operation.features).channels / width, width};
}

template <class T>
InteractionLayer<T>::InteractionLayer(const Operation& operation, Planner& planner)
    : kernels_(planner.kernels().features<T>()),
      shape_(feature_shape(operation, planner.network())),
      scratch_floats_(aligned_floats(shape_.scratch_floats())),
      features_width_((shape_.count - 1) * shape_.width),
      dst_width_(operation.dst.channels),
      src_buffer_(planner.value_place(operation.src).buffer),
      features_buffer_(planner.value_place(*operation.features).buffer),
      scratch_buffer_(scratch(planner, planner.forward_moment())) {
  planner.use_value(operation.src, true);
  planner.use_value(*operation.features, true);
  planner.define_value(
      plain_desc(batch_dims(planner.batch(), operation.dst), planner.value_type()));
  dst_buffer_ = planner.value_place(planner.made()).buffer;
}

template <class T>
void InteractionLayer<T>::plan_backward(Planner& planner) {
  const Operation& operation =
      planner.network().operations()[static_cast<std::size_t>(planner.made())];
  diff_dst_buffer_ = planner.incoming().front();
  diff_src_buffer_ = planner.contribute(operation.src);
  diff_features_buffer_ = planner.contribute(*operation.features);
  backward_scratch_buffer_ = scratch(planner, planner.backward_moment());
}

template <class T>
void InteractionLayer<T>::bind(const Arena& arena) {
  src_ = arena.at<T>(src_buffer_);
  features_ = arena.at<T>(features_buffer_);
  dst_ = arena.at<T>(dst_buffer_);
  scratch_ = arena.at(scratch_buffer_);
  diff_dst_ = arena.at<T>(diff_dst_buffer_);
  diff_src_ = arena.at<T>(diff_src_buffer_);
  diff_features_ = arena.at<T>(diff_features_buffer_);
  backward_scratch_ = arena.at(backward_scratch_buffer_);
}

template <class T>
void InteractionLayer<T>::forward(Mode /*mode*/, const Samples& samples) {
#pragma omp parallel for schedule(static)
  for (std::int64_t sample = samples.first; sample < samples.first + samples.count; ++sample) {
    kernels_.interact(src_ + sample * shape_.width, features_ + sample * features_width_, shape_,
                      dst_ + sample * dst_width_,
                      scratch_ + omp_get_thread_num() * scratch_floats_);
  }
}

template <class T>
void InteractionLayer<T>::backward(bool /*accumulate*/, const Samples& samples) {
#pragma omp parallel for schedule(static)
  for (std::int64_t sample = samples.first; sample < samples.first + samples.count; ++sample) {
    kernels_.interact_backward(src_ + sample * shape_.width, features_ + sample * features_width_,
                               diff_dst_ + sample * dst_width_, shape_,
                               diff_src_ + sample * shape_.width,
                               diff_features_ + sample * features_width_,
                               backward_scratch_ + omp_get_thread_num() * scratch_floats_);
  }
}

}  // namespace

std::unique_ptr<Layer> make_interaction(const Operation& operation, Planner& planner) {
  if (planner.precision() == Precision::kF32) {
    return std::make_unique<InteractionLayer<float>>(operation, planner);
  }
  return std::make_unique<InteractionLayer<Bf16>>(operation, planner);
}

}  // namespace nn
