// Layouts and channels.
// Hides nothing else.
#include "workloads/nn/products/parts_suits.h"

namespace nn {

using dnnl::memory;

bool has_parts(const ConvolutionProblem& problem, const memory::desc& src, const memory::desc& dst,
               const Planner& planner) {
  const Operation& operation = problem.operation();
  return planner.products().multiplies_parts() && problem.compute() == memory::data_type::f32 &&
         operation.kernel.size() == 2 && !problem.is_first() && operation.bias < 0 &&
         !is_atrous(operation) && problem.phases().count() == 1 && is_blocked_floats(src) &&
         is_blocked_floats(dst);
}

/// Measured on two cores with single points: the library takes as long for 128 channels that become
/// 256, and less for fewer. Windows, which make more of the points that are brought, are held to
/// the same.
bool are_channels_worthwhile(const ConvolutionProblem& problem) {
  const std::int64_t in = problem.image_of(Side::kSource).channels;
  const std::int64_t out = problem.image_of(Side::kDestination).channels;
  constexpr std::int64_t kLeast = 80;
  return in * out >= kLeast * (in + out);
}

}  // namespace nn
