// Shapes, readers and costs of a network's operations.
#include "workloads/nn/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"

namespace nn {

namespace {

std::int64_t product(const std::vector<std::int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::int64_t SampleShape::spatial_size() const { return product(spatial); }

std::vector<std::int64_t> SampleShape::stored() const {
  std::vector<std::int64_t> extents = spatial;
  for (std::int64_t& extent : extents) extent += 2 * margin;
  return extents;
}

std::int64_t SampleShape::size() const { return channels * product(stored()); }

std::int64_t ParameterSpec::count() const { return product(shape); }

Padding uniform_padding(std::int64_t axes, std::int64_t begin, std::int64_t end) {
  const auto count = static_cast<std::size_t>(axes);
  return {std::vector<std::int64_t>(count, begin), std::vector<std::int64_t>(count, end)};
}

Padding same_padding(const std::vector<std::int64_t>& in, std::int64_t kernel,
                     std::int64_t stride) {
  Padding padding;
  for (const std::int64_t extent : in) {
    const std::int64_t out = base::ceil_div(extent, stride);
    const std::int64_t total = std::max<std::int64_t>((out - 1) * stride + kernel - extent, 0);
    padding.begin.push_back(total / 2);
    padding.end.push_back(total - total / 2);
  }
  return padding;
}

const SampleShape& Network::shape(ValueId value) const {
  if (value < 0 || static_cast<std::size_t>(value) >= operations_.size()) {
    throw base::ShapeError(fmt::format("network: value {} does not exist", value));
  }
  return operations_[static_cast<std::size_t>(value)].dst;
}

std::vector<std::size_t> Network::readers(ValueId value) const {
  std::vector<std::size_t> readers;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].src == value) readers.push_back(i);
    if (operations_[i].residual == value) readers.push_back(i);
    if (operations_[i].features == value) readers.push_back(i);
    const auto& others = operations_[i].others;
    readers.insert(readers.end(),
                   static_cast<std::size_t>(std::count(others.begin(), others.end(), value)), i);
  }
  return readers;
}

ValueId Network::append(Operation operation) {
  operations_.push_back(std::move(operation));
  return static_cast<ValueId>(operations_.size()) - 1;
}

std::int64_t Network::inputs() const {
  const auto is_input = [](const Operation& operation) {
    return operation.kind == OperationKind::kInput;
  };
  return std::find_if_not(operations_.begin(), operations_.end(), is_input) - operations_.begin();
}

bool Network::feeds_max_pool(ValueId value) const {
  const auto source = [this](ValueId of) { return operations_[static_cast<std::size_t>(of)].src; };
  return std::any_of(operations_.begin(), operations_.end(), [&](const Operation& operation) {
    if (operation.kind != OperationKind::kMaxPool) return false;
    ValueId pooled = operation.src;
    const auto passes = [this](ValueId of) {
      const OperationKind kind = operations_[static_cast<std::size_t>(of)].kind;
      return kind == OperationKind::kBatchNorm || kind == OperationKind::kBiased ||
             kind == OperationKind::kResponseNorm;
    };
    while (pooled != value && passes(pooled)) pooled = source(pooled);
    return pooled == value;
  });
}

bool Network::is_vector_layer(const Operation& operation) const {
  if (operation.kind != OperationKind::kFullyConnected) return false;
  const Operation& maker = operations_.at(static_cast<std::size_t>(operation.src));
  if (maker.kind == OperationKind::kActivation) return is_of_vectors(maker);
  return maker.kind == OperationKind::kFullyConnected ||
         maker.kind == OperationKind::kDotInteraction || maker.kind == OperationKind::kBiased ||
         maker.kind == OperationKind::kFlatten ||
         (maker.kind == OperationKind::kInput && maker.dst.spatial.empty());
}

bool Network::is_of_vectors(const Operation& activation) const {
  const Operation& maker = operations_.at(static_cast<std::size_t>(activation.src));
  if (maker.kind == OperationKind::kActivation) return is_of_vectors(maker);
  return is_vector_layer(maker) || maker.kind == OperationKind::kFlatten ||
         maker.kind == OperationKind::kBiased || maker.kind == OperationKind::kDotInteraction;
}

bool Network::has_gradient(ValueId value) const {
  const Operation& maker = operations_.at(static_cast<std::size_t>(value));
  return maker.kind != OperationKind::kInput || maker.wants_gradient;
}

std::int64_t Network::parameter_count() const {
  std::int64_t count = 0;
  for (const ParameterSpec& parameter : parameters_) count += parameter.count();
  return count;
}

std::int64_t Network::forward_macs(const Operation& operation) const {
  if (operation.kind == OperationKind::kDotInteraction) {
    const std::int64_t channels = shape(operation.src).channels;
    return (operation.dst.channels - channels) * channels;
  }
  const auto weights = [&] {
    return parameters_[static_cast<std::size_t>(operation.weights)].count();
  };
  switch (operation.kind) {
    case OperationKind::kConvolution:
    case OperationKind::kDepthwise:
    case OperationKind::kFullyConnected:
      return weights() * operation.dst.spatial_size();
    case OperationKind::kConvolutionPool:
    case OperationKind::kDeconvolution:
      return weights() * shape(operation.src).spatial_size();
    default:
      return 0;
  }
}

std::int64_t Network::training_macs(const Operation& operation) const {
  // The gradient of each operand costs as much as the forward pass; the source's is optional.
  return forward_macs(operation) * (operation.src < 0 || has_gradient(operation.src) ? 3 : 2);
}

std::int64_t Network::forward_macs() const {
  std::int64_t macs = 0;
  for (const Operation& operation : operations_) macs += forward_macs(operation);
  return macs;
}

bool keeps_output(const Operation& operation) {
  return operation.relu && (operation.kind == OperationKind::kFullyConnected ||
                            operation.kind == OperationKind::kBiased);
}

bool is_atrous(const Operation& operation) {
  return std::any_of(operation.dilation.begin(), operation.dilation.end(),
                     [](std::int64_t apart) { return apart > 1; });
}

}  // namespace nn
