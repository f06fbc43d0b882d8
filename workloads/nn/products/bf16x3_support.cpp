// Which float convolutions the bf16x3 split supports.
#include "workloads/nn/products/bf16x3_support.h"

namespace nn {

bool supports_bf16x3(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                     const Planner& planner) {
  const Operation& operation = problem.operation();
  return planner.products().uses_bf16x3() && problem.compute() == dnnl::memory::data_type::f32 &&
         operation.kernel.size() == 2 && !problem.is_first() && operation.bias < 0 &&
         !is_atrous(operation) && problem.phases().count() == 1 && is_blocked_floats(layouts.src) &&
         is_blocked_floats(layouts.dst) && has_tiled_weights(problem, layouts);
}

}  // namespace nn
