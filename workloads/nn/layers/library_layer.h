// A layer without parameters that one oneDNN primitive computes, and another one its gradient.
// Hides slices, places of operands and the workspace between both.
#pragma once

#include <functional>
#include <string>

#include "workloads/nn/layer.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {

class LibraryLayer final : public Layer {
 public:
  struct Primitives {
    std::string what;           ///< for messages: "max pool "
    std::string workspace;      ///< for memory plans: "pooling workspaces"
    bool reads_source = false;  ///< so does the gradient
    SlicedPrimitive::Describe forward, gradient;
  };
  /// `primitives` describe what reads the operation's source as it is stored. Throws ShapeError.
  LibraryLayer(const Operation& operation, Planner& planner, Primitives primitives);
  void plan_backward(Planner& planner) override;
  void bind(const Arena& arena) override;
  void forward(Mode /*mode*/, const Samples& samples) override { forward_.run(samples); }
  void backward(bool /*accumulate*/, const Samples& samples) override { backward_.run(samples); }
  std::string implementation() const override { return forward_.implementation(); }

 private:
  void plan_forward(Planner& planner);
  bool has_workspace() const { return workspace_desc_.get_size() > 0; }

  const Operation operation_;
  const Primitives primitives_;
  Device& device_;
  const dnnl::memory::desc src_desc_;
  dnnl::memory::desc dst_desc_, workspace_desc_;
  SlicedPrimitive forward_, backward_;
  BufferId src_buffer_ = -1, dst_buffer_ = -1, workspace_buffer_ = -1, src_again_buffer_ = -1;
  BufferId diff_dst_buffer_ = -1, diff_src_buffer_ = -1;
};

}  // namespace nn
