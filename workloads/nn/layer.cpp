// Parameter gradients, and Layer's defaults.
#include "workloads/nn/layer.h"

#include "runner/base/error.h"
#include "workloads/nn/accumulation.h"

namespace nn {

void GradientTarget::plan(Planner& planner, std::int64_t bytes, int first_moment) {
  if (!planner.accumulates()) return;
  buffer_ = planner.temporary(bytes, first_moment, planner.backward_moment(),
                              "parameter gradients to add");
}

void GradientTarget::plan_beside(Planner& planner, std::int64_t bytes) {
  buffer_ = planner.temporary(bytes, planner.backward_moment(), "parameter gradients to add");
}

void GradientTarget::bind(const Arena& arena, ParameterId id, const Kernels& kernels) {
  place_ = arena.parameters.gradient(id);
  beside_ = arena.at(buffer_);
  count_ = arena.parameters.count(id);
  kernels_ = &kernels;
}

void GradientTarget::finish(bool accumulate) const {
  if (accumulate) add_all(kernels_->f32, place_, beside_, count_);
}

void Layer::recompute(const Samples& /*samples*/) {
  throw base::Error(base::ExitCode::kInternal, "recompute requested from a layer that cannot");
}

}  // namespace nn
