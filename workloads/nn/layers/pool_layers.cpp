// Pooling: maxima by oneDNN, global means by this project's kernels.
#include "workloads/nn/layers/image_means.h"
#include "workloads/nn/layers/library_layer.h"
#include "workloads/nn/layers/make_layers.h"

namespace nn {
namespace {

using dnnl::memory;

/// Gives floats at any precision: the products that follow cost little.
template <class T>
class GlobalAveragePoolLayer final : public Layer {
 public:
  GlobalAveragePoolLayer(const Operation& operation, Planner& planner)
      : operation_(operation), means_(planner, planner.value_desc(operation.src)) {
    planner.use_value(operation.src, false);
    means_.plan(planner, planner.forward_slices().sizes().back(), planner.forward_moment());
    planner.define_value(plain_desc(batch_dims(planner.batch(), operation.dst)));
    src_place_ = planner.value_place(operation.src);
    dst_place_ = planner.value_place(planner.made());
  }

  void plan_backward(Planner& planner) override {
    diff_dst_buffer_ = planner.incoming().front();
    diff_src_buffer_ = planner.contribute(operation_.src);
  }

  void bind(const Arena& arena) override {
    means_.bind(arena);
    src_ = arena.at<T>(src_place_.buffer);
    dst_ = arena.at(dst_place_.buffer);
    diff_dst_ = arena.at(diff_dst_buffer_);
    diff_src_ = arena.at<T>(diff_src_buffer_);
  }

  void forward(Mode /*mode*/, const Samples& samples) override {
    means_.find(src_, src_place_, samples,
                [&](std::int64_t sample, std::int64_t channel, float mean) {
                  dst_[dst_place_.row_of(sample, samples) * channels() + channel] = mean;
                });
  }

  void backward(bool /*accumulate*/, const Samples& samples) override {
    const float share = 1.0F / static_cast<float>(means_.layout().rows);
    means_.fill(diff_src_, {}, samples, [&](std::int64_t sample, std::int64_t channel) {
      return diff_dst_[sample * channels() + channel] * share;
    });
  }

 private:
  std::int64_t channels() const { return operation_.dst.channels; }

  const Operation operation_;
  ImageMeans<T> means_;
  ValuePlace src_place_, dst_place_;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  const T* src_ = nullptr;
  float* dst_ = nullptr;
  const float* diff_dst_ = nullptr;
  T* diff_src_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> make_max_pool(const Operation& operation, Planner& planner) {
  const memory::desc src = planner.value_desc(operation.src);
  const PoolingWindows windows = {operation.stride, operation.kernel, operation.padding.begin,
                                  operation.padding.end};
  const dnnl::engine& engine = planner.device().engine;
  const auto kind =
      planner.training() ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const auto forward = [=, dst = operation.dst](std::int64_t samples) {
    return describe_pooling(engine, kind, with_samples(src, samples),
                            any_desc(batch_dims(samples, dst), type_of(src)), windows);
  };
  const auto gradient = [=](std::int64_t samples) {
    const auto pooling = forward(samples);
    return describe_pooling_gradient(engine, pooling, with_samples(src, samples),
                                     pooling.dst_desc(), windows);
  };
  return std::make_unique<LibraryLayer>(
      operation, planner,
      LibraryLayer::Primitives{"max pool ", "pooling workspaces", false, forward, gradient});
}

std::unique_ptr<Layer> make_global_average_pool(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == memory::data_type::bf16) {
    return std::make_unique<GlobalAveragePoolLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<GlobalAveragePoolLayer<float>>(operation, planner);
}

}  // namespace nn
