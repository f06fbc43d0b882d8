// A oneDNN primitive and its gradient, as a layer.
#include "workloads/nn/layers/library_layer.h"

#include <utility>
#include <vector>

namespace nn {

LibraryLayer::LibraryLayer(const Operation& operation, Planner& planner, Primitives primitives)
    : operation_(operation),
      primitives_(std::move(primitives)),
      device_(planner.device()),
      src_desc_(planner.value_desc(operation.src)) {
  translated(primitives_.what + operation.name, [&] { plan_forward(planner); });
}

void LibraryLayer::plan_forward(Planner& planner) {
  using dnnl::query;
  const dnnl::primitive_desc first = primitives_.forward(planner.forward_slices().sizes().front());
  dst_desc_ = with_samples(first.query_md(query::exec_arg_md, DNNL_ARG_DST), planner.batch());
  planner.use_value(operation_.src, primitives_.reads_source);
  planner.define_value(dst_desc_);
  const ValuePlace src = planner.value_place(operation_.src);
  const ValuePlace dst = planner.value_place(planner.made());
  src_buffer_ = src.buffer;
  dst_buffer_ = dst.buffer;
  std::vector<Operand> operands = {{DNNL_ARG_SRC, src_desc_, extent_of(src)},
                                   {DNNL_ARG_DST, dst_desc_, extent_of(dst), true}};
  const dnnl::memory::desc workspace = first.query_md(query::workspace_md);
  if (workspace.get_size() > 0) {
    workspace_desc_ = with_samples(workspace, planner.batch());
    operands.push_back({DNNL_ARG_WORKSPACE, workspace_desc_, Extent::kPass, true});
    workspace_buffer_ =
        planner.kept(static_cast<std::int64_t>(workspace_desc_.get_size()), primitives_.workspace);
  }
  forward_.plan(planner, planner.forward_slices(), planner.forward_moment(), primitives_.forward,
                operands);
}

void LibraryLayer::plan_backward(Planner& planner) {
  std::vector<Operand> operands = {{DNNL_ARG_DIFF_DST, dst_desc_},
                                   {DNNL_ARG_DIFF_SRC, src_desc_, Extent::kPass, true}};
  if (has_workspace()) operands.push_back({DNNL_ARG_WORKSPACE, workspace_desc_});
  if (primitives_.reads_source) {
    const ValuePlace src = planner.recomputed_value(operation_.src);
    src_again_buffer_ = src.buffer;
    operands.push_back({DNNL_ARG_SRC, src_desc_, extent_of(src)});
  }
  translated(primitives_.what + operation_.name, [&] {
    backward_.plan(planner, planner.backward_slices(), planner.backward_moment(),
                   primitives_.gradient, operands);
  });
  diff_dst_buffer_ = planner.incoming().front();
  diff_src_buffer_ = planner.contribute(operation_.src);
}

void LibraryLayer::bind(const Arena& arena) {
  void* const workspace = arena.at<void>(workspace_buffer_);
  std::vector<void*> places = {arena.at<void>(src_buffer_), arena.at<void>(dst_buffer_)};
  if (has_workspace()) places.push_back(workspace);
  forward_.bind(arena, device_, places);
  if (!backward_.planned()) return;
  places = {arena.at<void>(diff_dst_buffer_), arena.at<void>(diff_src_buffer_)};
  if (has_workspace()) places.push_back(workspace);
  if (primitives_.reads_source) places.push_back(arena.at<void>(src_again_buffer_));
  backward_.bind(arena, device_, places);
}

}  // namespace nn
