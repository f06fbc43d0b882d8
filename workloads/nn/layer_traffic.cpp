#include "workloads/nn/layer_traffic.h"

#include <algorithm>

namespace nn {
namespace {

std::int64_t bytes_of(const Planner& planner, ValueId value) {
  return static_cast<std::int64_t>(planner.value_desc(value).get_size());
}

const Operation& operation_of(const Planner& planner, ValueId made) {
  return planner.network().operations()[static_cast<std::size_t>(made)];
}

/// Whether a batch norm's sums, gathered in segment `observed`, read from the caches. Sums that are
/// not observed (-1) are computed channel by channel, and only where the caches hold the channels.
bool sums_cached(const std::vector<PassSegment>& segments, int observed) {
  return observed < 0 || segments[static_cast<std::size_t>(observed)].is_cached;
}

/// Bytes of the sweeps for a batch norm's sums, and of reading its source in the backward pass.
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

/// Sweeps over the operands: for a product forward and both gradients, else forward and backward.
std::int64_t passes_of(const Planner& planner, const Operation& operation) {
  if (operation.kind == OperationKind::kSum) return 1;  // the gradient is both addends'
  const bool is_product = operation.kind == OperationKind::kConvolution ||
                          operation.kind == OperationKind::kDeconvolution ||
                          operation.kind == OperationKind::kFullyConnected;
  return is_product && planner.network().has_gradient(operation.src) ? 3 : 2;
}

/// Bytes moved to add a gradient's contributions, beyond the first one.
std::int64_t part_bytes(const Planner& planner, ValueId made, bool adds_gradients) {
  if (!planner.training()) return 0;
  const auto parts = static_cast<std::int64_t>(planner.network().readers(made).size());
  const SegmentsOf& segments = planner.pass().of(static_cast<std::size_t>(made));
  const bool is_cached =
      planner.pass().backward()[static_cast<std::size_t>(segments.backward)].is_cached;
  std::int64_t sweeps = 0;
  if (adds_gradients && parts > 1) {
    sweeps += 1;  // over the second contribution
    // With a residual the sum is stored anyway, as its gradient; else it is stored for the layer.
    if (!is_cached && !operation_of(planner, made).residual) sweeps += 1;
  }
  const std::int64_t added = std::max<std::int64_t>(parts - (adds_gradients ? 2 : 1), 0);
  sweeps += added * (is_cached ? 1 : 3);  // the part; the sum, read and written
  return sweeps * bytes_of(planner, made);
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

std::int64_t moved_bytes(const Planner& planner, ValueId made, bool adds_gradients) {
  const Operation& operation = operation_of(planner, made);
  const std::int64_t operands = operand_bytes(planner, made);
  std::int64_t bytes = passes_of(planner, operation) * operands;
  if (planner.pass().of(static_cast<std::size_t>(made)).recomputed_in >= 0) bytes += operands;
  if (operation.kind == OperationKind::kBatchNorm) bytes += norm_bytes(planner, made);
  if (operation.kind == OperationKind::kDepthwise) bytes += bytes_of(planner, operation.src);
  return bytes + part_bytes(planner, made, adds_gradients);
}

}  // namespace nn
