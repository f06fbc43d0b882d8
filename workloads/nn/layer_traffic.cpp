#include "workloads/nn/layer_traffic.h"

namespace nn {
namespace {

std::int64_t bytes_of(const Planner& planner, ValueId value) {
  return static_cast<std::int64_t>(planner.value_desc(value).get_size());
}

const Operation& operation_of(const Planner& planner, ValueId made) {
  return planner.network().operations()[static_cast<std::size_t>(made)];
}

/// Whether sums that are observed in this segment, one of them, are made of what it has cached;
/// those that are not observed are made channel by channel, and only where channels fit the caches.
bool sums_cached(const std::vector<PassSegment>& segments, int observed) {
  return observed < 0 || segments[static_cast<std::size_t>(observed)].is_cached;
}

/// Of the sweeps that a batch norm's sums take, and of its source backward.
std::int64_t norm_bytes(const Planner& planner, ValueId made) {
  const PassPlan& pass = planner.pass();
  const SegmentsOf& segments = pass.of(static_cast<std::size_t>(made));
  const std::int64_t src = bytes_of(planner, operation_of(planner, made).src);
  std::int64_t bytes = src;
  if (!sums_cached(pass.forward(), segments.observed_forward)) bytes += src;
  if (!sums_cached(pass.backward(), segments.observed_backward)) {
    bytes += src + bytes_of(planner, made);
  }
  return bytes;
}

}  // namespace

std::int64_t operand_bytes(const Planner& planner, ValueId made) {
  const Operation& operation = operation_of(planner, made);
  std::int64_t bytes = bytes_of(planner, operation.src) + bytes_of(planner, made);
  if (operation.residual) bytes += bytes_of(planner, *operation.residual);
  if (operation.features) bytes += bytes_of(planner, *operation.features);
  for (const ValueId value : operation.others) bytes += bytes_of(planner, value);
  for (const ParameterId id : {operation.weights, operation.bias}) {
    if (id < 0) continue;
    bytes += static_cast<std::int64_t>(
        planner.parameter_descs()[static_cast<std::size_t>(id)].get_size());
  }
  return bytes;
}

std::int64_t moved_bytes(const Planner& planner, ValueId made) {
  const Operation& operation = operation_of(planner, made);
  const std::int64_t operands = operand_bytes(planner, made);
  std::int64_t bytes = 2 * operands;
  if (planner.pass().of(static_cast<std::size_t>(made)).remade >= 0) bytes += operands;
  if (operation.kind == OperationKind::kBatchNorm) bytes += norm_bytes(planner, made);
  if (operation.kind == OperationKind::kDepthwise) bytes += bytes_of(planner, operation.src);
  return bytes;
}

}  // namespace nn
