// Pooling: maxima by oneDNN, global means by own kernels.
// Hides the workspace that remembers where a maximum came from.
#include <optional>
#include <unordered_map>

#include "workloads/nn/layer.h"

namespace nn {
namespace {

using dnnl::memory;

class MaxPoolLayer final : public Layer {
 public:
  MaxPoolLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        device_(planner.device()),
        src_desc_(planner.value_desc(operation.src)) {
    translated("max pool " + operation.name, [&] { plan_forward(planner); });
  }

  void plan_backward(Planner& planner) override {
    diff_dst_buffer_ = planner.incoming().front();
    diff_src_buffer_ = planner.contribute(operation_.src);
    translated("max pool " + operation_.name, [&] {
      const dnnl::pooling_backward::desc description(
          dnnl::algorithm::pooling_max, src_desc_, forward_desc_->dst_desc(), operation_.stride,
          operation_.kernel, operation_.padding.begin, operation_.padding.end);
      backward_desc_.emplace(description, device_.engine, *forward_desc_);
    });
  }

  void bind(const Arena& arena) override {
    memory workspace;
    if (workspace_buffer_ >= 0) {
      workspace =
          memory(forward_desc_->workspace_desc(), device_.engine, arena.at(workspace_buffer_));
    }
    forward_ = dnnl::pooling_forward(*forward_desc_);
    forward_arguments_ = {
        {DNNL_ARG_SRC, memory(src_desc_, device_.engine, arena.at(src_buffer_))},
        {DNNL_ARG_DST, memory(forward_desc_->dst_desc(), device_.engine, arena.at(dst_buffer_))}};
    if (workspace) forward_arguments_[DNNL_ARG_WORKSPACE] = workspace;
    if (!backward_desc_) return;
    backward_ = dnnl::pooling_backward(*backward_desc_);
    backward_arguments_ = {
        {DNNL_ARG_DIFF_DST,
         memory(forward_desc_->dst_desc(), device_.engine, arena.at(diff_dst_buffer_))},
        {DNNL_ARG_DIFF_SRC, memory(src_desc_, device_.engine, arena.at(diff_src_buffer_))},
        {DNNL_ARG_WORKSPACE, workspace}};
  }

  void forward(Mode /*mode*/) override { forward_.execute(device_.stream, forward_arguments_); }
  void backward(bool /*accumulate*/) override {
    backward_.execute(device_.stream, backward_arguments_);
  }
  std::string implementation() const override { return forward_desc_->impl_info_str(); }

 private:
  void plan_forward(Planner& planner) {
    const auto kind =
        planner.training() ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const dnnl::pooling_forward::desc description(
        kind, dnnl::algorithm::pooling_max, src_desc_,
        any_desc(batch_dims(planner.batch(), operation_.dst), src_desc_.data_type()),
        operation_.stride, operation_.kernel, operation_.padding.begin, operation_.padding.end);
    forward_desc_.emplace(description, device_.engine);
    planner.use_value(operation_.src, false);
    planner.define_value(forward_desc_->dst_desc());
    src_buffer_ = planner.value_buffer(operation_.src);
    dst_buffer_ = planner.value_buffer(planner.forward_moment());
    const auto workspace = static_cast<std::int64_t>(forward_desc_->workspace_desc().get_size());
    if (workspace > 0) workspace_buffer_ = planner.kept(workspace, "pooling workspaces");
  }

  const Operation operation_;
  Device& device_;
  memory::desc src_desc_;
  std::optional<dnnl::pooling_forward::primitive_desc> forward_desc_;
  std::optional<dnnl::pooling_backward::primitive_desc> backward_desc_;
  BufferId src_buffer_ = -1, dst_buffer_ = -1, workspace_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
  dnnl::primitive forward_, backward_;
  std::unordered_map<int, memory> forward_arguments_, backward_arguments_;
};

/// Gives floats, whatever it is given: what follows are products that cost little.
template <class T>
class GlobalAveragePoolLayer final : public Layer {
 public:
  GlobalAveragePoolLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        kernels_(planner.kernels().on<T>()),
        batch_(planner.batch()),
        layout_(channel_layout(planner.value_desc(operation.src))) {
    planner.use_value(operation.src, false);
    planner.define_value(plain_desc(batch_dims(batch_, operation.dst)));
    src_buffer_ = planner.value_buffer(operation.src);
    dst_buffer_ = planner.value_buffer(planner.forward_moment());
  }

  void plan_backward(Planner& planner) override {
    diff_dst_buffer_ = planner.incoming().front();
    diff_src_buffer_ = planner.contribute(operation_.src);
  }

  void bind(const Arena& arena) override {
    src_ = arena.at<T>(src_buffer_);
    dst_ = arena.at(dst_buffer_);
    diff_dst_ = arena.at(diff_dst_buffer_);
    diff_src_ = arena.at<T>(diff_src_buffer_);
  }

  void forward(Mode /*mode*/) override {
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t sample = 0; sample < batch_; ++sample) {
      for (std::int64_t block = 0; block < layout_.blocks; ++block) {
        float mean[kColumnWidth];
        const Column column = layout_.column(block);
        kernels_.row_mean(src_ + layout_.offset(sample, block), column, mean);
        for (int lane = 0; lane < column.width; ++lane) {
          const std::int64_t channel = block * layout_.width + lane;
          if (channel < layout_.channels) dst_[sample * layout_.channels + channel] = mean[lane];
        }
      }
    }
  }

  void backward(bool /*accumulate*/) override {
    const float share = 1.0F / static_cast<float>(layout_.rows);
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t sample = 0; sample < batch_; ++sample) {
      for (std::int64_t block = 0; block < layout_.blocks; ++block) {
        float value[kColumnWidth] = {};
        const Column column = layout_.column(block);
        for (int lane = 0; lane < column.width; ++lane) {
          const std::int64_t channel = block * layout_.width + lane;
          if (channel < layout_.channels)
            value[lane] = diff_dst_[sample * layout_.channels + channel] * share;
        }
        kernels_.fill_rows(diff_src_ + layout_.offset(sample, block), column, value);
      }
    }
  }

 private:
  static constexpr int kColumnWidth = 16;
  const Operation operation_;
  const ColumnKernels<T>& kernels_;
  std::int64_t batch_;
  ChannelLayout layout_;
  BufferId src_buffer_ = -1, dst_buffer_ = -1, diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
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
  if (planner.value_desc(operation.src).data_type() == memory::data_type::bf16) {
    return std::make_unique<GlobalAveragePoolLayer<Bf16>>(operation, planner);
  }
  return std::make_unique<GlobalAveragePoolLayer<float>>(operation, planner);
}

}  // namespace nn
