// Pooling: maxima by oneDNN, global means by this project's kernels.
#include <optional>
#include <unordered_map>

#include "workloads/nn/layers/image_means.h"
#include "workloads/nn/layers/make_layers.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {
namespace {

using dnnl::memory;

class MaxPoolLayer final : public Layer {
 public:
  MaxPoolLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        device_(planner.device()),
        training_(planner.training()),
        src_desc_(planner.value_desc(operation.src)) {
    translated("max pool " + operation.name, [&] { plan_forward(planner); });
  }

  void plan_backward(Planner& planner) override {
    translated("max pool " + operation_.name, [&] {
      std::vector<Operand> operands = {{DNNL_ARG_DIFF_DST, dst_desc_},
                                       {DNNL_ARG_DIFF_SRC, src_desc_, Extent::kPass, true}};
      if (has_workspace()) operands.push_back({DNNL_ARG_WORKSPACE, workspace_desc_});
      backward_.plan(
          planner, planner.backward_slices(), planner.backward_moment(),
          [this](std::int64_t samples) { return backward_desc(samples); }, operands);
    });
    diff_dst_buffer_ = planner.incoming().front();
    diff_src_buffer_ = planner.contribute(operation_.src);
  }

  void bind(const Arena& arena) override {
    void* const workspace = arena.at<void>(workspace_buffer_);
    forward_.bind(arena, device_,
                  {arena.at<void>(src_buffer_), arena.at<void>(dst_buffer_), workspace});
    if (!backward_.planned()) return;
    backward_.bind(arena, device_,
                   {arena.at<void>(diff_dst_buffer_), arena.at<void>(diff_src_buffer_), workspace});
  }

  void forward(Mode /*mode*/, const Samples& samples) override { forward_.run(samples); }
  void backward(bool /*accumulate*/, const Samples& samples) override { backward_.run(samples); }
  std::string implementation() const override { return forward_.implementation(); }

 private:
  dnnl::pooling_forward::primitive_desc forward_desc(std::int64_t samples) const {
    const auto kind =
        training_ ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    return describe_pooling(
        device_.engine, kind, with_samples(src_desc_, samples),
        any_desc(batch_dims(samples, operation_.dst), type_of(src_desc_)),
        {operation_.stride, operation_.kernel, operation_.padding.begin, operation_.padding.end});
  }
  dnnl::pooling_backward::primitive_desc backward_desc(std::int64_t samples) const {
    return describe_pooling_gradient(
        device_.engine, forward_desc(samples), with_samples(src_desc_, samples),
        with_samples(dst_desc_, samples),
        {operation_.stride, operation_.kernel, operation_.padding.begin, operation_.padding.end});
  }
  bool has_workspace() const { return workspace_desc_.get_size() > 0; }

  void plan_forward(Planner& planner) {
    const auto first = forward_desc(planner.forward_slices().sizes().front());
    dst_desc_ = with_samples(first.dst_desc(), planner.batch());
    planner.use_value(operation_.src, false);
    planner.define_value(dst_desc_);
    const ValuePlace src = planner.value_place(operation_.src);
    const ValuePlace dst = planner.value_place(planner.made());
    src_buffer_ = src.buffer;
    dst_buffer_ = dst.buffer;
    std::vector<Operand> operands = {{DNNL_ARG_SRC, src_desc_, extent_of(src)},
                                     {DNNL_ARG_DST, dst_desc_, extent_of(dst), true}};
    if (first.workspace_desc().get_size() > 0) {
      workspace_desc_ = with_samples(first.workspace_desc(), planner.batch());
      operands.push_back({DNNL_ARG_WORKSPACE, workspace_desc_, Extent::kPass, true});
      workspace_buffer_ =
          planner.kept(static_cast<std::int64_t>(workspace_desc_.get_size()), "pooling workspaces");
    }
    forward_.plan(
        planner, planner.forward_slices(), planner.forward_moment(),
        [this](std::int64_t samples) { return forward_desc(samples); }, operands);
  }

  const Operation operation_;
  Device& device_;
  const bool training_;
  memory::desc src_desc_, dst_desc_, workspace_desc_;
  SlicedPrimitive forward_, backward_;
  BufferId src_buffer_ = -1, dst_buffer_ = -1, workspace_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
};

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
  return std::make_unique<MaxPoolLayer>(operation, planner);
}

std::unique_ptr<Layer> make_global_average_pool(const Operation& operation, Planner& planner) {
  if (type_of(planner.value_desc(operation.src)) == memory::data_type::bf16) {
    return std::make_unique<GlobalAveragePoolLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<GlobalAveragePoolLayer<float>>(operation, planner);
}

}  // namespace nn
