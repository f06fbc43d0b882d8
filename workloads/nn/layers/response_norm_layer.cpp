// Local response normalization across channels, by oneDNN.
#include "workloads/nn/layers/make_layers.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {
namespace {

using dnnl::memory;

class ResponseNormLayer final : public Layer {
 public:
  ResponseNormLayer(const Operation& operation, Planner& planner)
      : operation_(operation),
        device_(planner.device()),
        kind_(planner.training() ? dnnl::prop_kind::forward_training
                                 : dnnl::prop_kind::forward_inference),
        desc_(planner.value_desc(operation.src)) {
    translated("response norm " + operation.name, [&] { plan_forward(planner); });
  }

  void plan_backward(Planner& planner) override {
    const ValuePlace src = planner.recomputed_value(operation_.src);
    src_again_buffer_ = src.buffer;
    translated("response norm " + operation_.name, [&] {
      std::vector<Operand> operands = {{DNNL_ARG_SRC, desc_, extent_of(src)},
                                       {DNNL_ARG_DIFF_DST, desc_},
                                       {DNNL_ARG_DIFF_SRC, desc_, Extent::kPass, true}};
      if (has_workspace()) operands.push_back({DNNL_ARG_WORKSPACE, workspace_desc_});
      backward_.plan(
          planner, planner.backward_slices(), planner.backward_moment(),
          [this](std::int64_t samples) {
            return describe_response_norm_gradient(device_.engine, forward_desc(samples),
                                                   with_samples(desc_, samples),
                                                   operation_.response);
          },
          operands);
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
                   {arena.at<void>(src_again_buffer_), arena.at<void>(diff_dst_buffer_),
                    arena.at<void>(diff_src_buffer_), workspace});
  }

  void forward(Mode /*mode*/, const Samples& samples) override { forward_.run(samples); }
  void backward(bool /*accumulate*/, const Samples& samples) override { backward_.run(samples); }
  std::string implementation() const override { return forward_.implementation(); }

 private:
  dnnl::lrn_forward::primitive_desc forward_desc(std::int64_t samples) const {
    return describe_response_norm(device_.engine, kind_, with_samples(desc_, samples),
                                  operation_.response);
  }
  bool has_workspace() const { return workspace_desc_.get_size() > 0; }

  void plan_forward(Planner& planner) {
    const auto first = forward_desc(planner.forward_slices().sizes().front());
    planner.use_value(operation_.src, true);
    planner.define_value(desc_);
    const ValuePlace src = planner.value_place(operation_.src);
    const ValuePlace dst = planner.value_place(planner.made());
    src_buffer_ = src.buffer;
    dst_buffer_ = dst.buffer;
    std::vector<Operand> operands = {{DNNL_ARG_SRC, desc_, extent_of(src)},
                                     {DNNL_ARG_DST, desc_, extent_of(dst), true}};
    if (first.workspace_desc().get_size() > 0) {
      workspace_desc_ = with_samples(first.workspace_desc(), planner.batch());
      operands.push_back({DNNL_ARG_WORKSPACE, workspace_desc_, Extent::kPass, true});
      workspace_buffer_ = planner.kept(static_cast<std::int64_t>(workspace_desc_.get_size()),
                                       "response-norm workspaces");
    }
    forward_.plan(
        planner, planner.forward_slices(), planner.forward_moment(),
        [this](std::int64_t samples) { return forward_desc(samples); }, operands);
  }

  const Operation operation_;
  Device& device_;
  const dnnl::prop_kind kind_;
  const memory::desc desc_;  ///< of source and destination
  memory::desc workspace_desc_;
  SlicedPrimitive forward_, backward_;
  BufferId src_buffer_ = -1, dst_buffer_ = -1, workspace_buffer_ = -1, src_again_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
};

}  // namespace

std::unique_ptr<Layer> make_response_norm(const Operation& operation, Planner& planner) {
  return std::make_unique<ResponseNormLayer>(operation, planner);
}

}  // namespace nn
