// Builder of network descriptions.
// Hides shape arithmetic and its checks.
#include "workloads/nn/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "runner/base/error.h"
#include "workloads/nn/network_checks.h"

namespace nn {

using network::require;
using network::to_text;
using network::window_extents;
using network::windowed;

namespace {

std::int64_t product(const std::vector<std::int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::int64_t SampleShape::points() const { return product(spatial); }

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
    const std::int64_t out = (extent + stride - 1) / stride;
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

ParameterId Network::add_parameter(ParameterSpec spec) {
  for (const ParameterSpec& known : parameters_) {
    require(known.name != spec.name, spec.name, "a name used once", "it twice");
  }
  parameters_.push_back(std::move(spec));
  return static_cast<ParameterId>(parameters_.size()) - 1;
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
    while (operations_[static_cast<std::size_t>(pooled)].kind == OperationKind::kBatchNorm) {
      pooled = source(pooled);
    }
    return pooled == value;
  });
}

bool Network::is_of_perceptron(const Operation& operation) const {
  if (operation.kind != OperationKind::kFullyConnected) return false;
  const Operation& maker = operations_.at(static_cast<std::size_t>(operation.src));
  return maker.kind == OperationKind::kFullyConnected ||
         maker.kind == OperationKind::kDotInteraction ||
         (maker.kind == OperationKind::kInput && maker.dst.spatial.empty());
}

bool Network::has_gradient(ValueId value) const {
  const Operation& maker = operations_.at(static_cast<std::size_t>(value));
  return maker.kind != OperationKind::kInput || maker.wants_gradient;
}

ValueId Network::input(const SampleShape& shape, InputGradient gradient) {
  require(inputs() == static_cast<std::int64_t>(operations_.size()), "input",
          "inputs before other operations", "one behind " + std::to_string(operations_.size()));
  require(shape.size() > 0, "input", "positive extents", to_text(shape));
  Operation operation;
  operation.name = "input";
  operation.wants_gradient = gradient == InputGradient::kWanted;
  operation.dst = shape;
  return append(std::move(operation));
}

ValueId Network::convolution(ValueId src, const ConvolutionSpec& spec) {
  const SampleShape in = shape(src);
  Operation operation = windowed(OperationKind::kConvolution, spec.name, src, spec.kernel,
                                 spec.stride, spec.padding, in);
  require(spec.channels > 0 && spec.dilation > 0, spec.name, "positive channels and dilation",
          fmt::format("{} and {}", spec.channels, spec.dilation));
  operation.dilation.assign(in.spatial.size(), spec.dilation);
  operation.dst = {spec.channels, window_extents(operation, in)};
  std::vector<std::int64_t> weights = {spec.channels, in.channels};
  weights.insert(weights.end(), operation.kernel.begin(), operation.kernel.end());
  operation.weights = add_parameter({spec.name + ".weight", weights, spec.initializer, true});
  if (spec.bias) {
    operation.bias = add_parameter({spec.name + ".bias", {spec.channels}, *spec.bias, false});
  }
  return append(std::move(operation));
}

ValueId Network::batch_norm(ValueId src, const BatchNormSpec& spec,
                            std::optional<ValueId> residual) {
  const SampleShape in = shape(src);
  if (residual) {
    const SampleShape other = shape(*residual);
    require(other.channels == in.channels && other.spatial == in.spatial, spec.name,
            "a residual of shape " + to_text(in), to_text(other));
  }
  Operation operation;
  operation.kind = OperationKind::kBatchNorm;
  operation.name = spec.name;
  operation.src = src;
  operation.residual = residual;
  operation.relu = spec.relu;
  operation.epsilon = spec.epsilon;
  operation.momentum = spec.momentum;
  operation.dst = in;
  const Initializer gamma = {Distribution::kConstant, 0.0, spec.gamma};
  operation.weights = add_parameter({spec.name + ".weight", {in.channels}, gamma, false});
  operation.bias = add_parameter({spec.name + ".bias", {in.channels}, {}, false});
  operation.statistics = static_cast<int>(statistics_.size());
  statistics_.push_back({spec.name, in.channels});
  return append(std::move(operation));
}

ValueId Network::max_pool(ValueId src, const PoolSpec& spec) {
  const SampleShape in = shape(src);
  Operation operation = windowed(OperationKind::kMaxPool, "max_pool", src, spec.kernel, spec.stride,
                                 spec.padding, in);
  operation.dst = {in.channels, window_extents(operation, in)};
  return append(std::move(operation));
}

ValueId Network::global_average_pool(ValueId src) {
  Operation operation;
  operation.kind = OperationKind::kGlobalAveragePool;
  operation.name = "global_average_pool";
  operation.src = src;
  operation.dst = {shape(src).channels, {}};
  return append(std::move(operation));
}

ValueId Network::fully_connected(ValueId src, const FullyConnectedSpec& spec) {
  const SampleShape in = shape(src);
  require(in.spatial.empty(), spec.name, "a vector", to_text(in));
  require(spec.outputs > 0, spec.name, "positive outputs", std::to_string(spec.outputs));
  Operation operation;
  operation.kind = OperationKind::kFullyConnected;
  operation.name = spec.name;
  operation.src = src;
  operation.relu = spec.relu;
  require(!spec.relu || is_of_perceptron(operation), spec.name,
          "a source that is an input, fully connected or an interaction before its ReLU",
          operations_[static_cast<std::size_t>(src)].name);
  operation.dst = {spec.outputs, {}};
  operation.inputs_first = spec.style == ParameterStyle::kKeras;
  if (spec.style == ParameterStyle::kPointwise) {
    operation.weights = add_parameter(
        {spec.name + ".weight", {spec.outputs, in.channels, 1, 1}, spec.weights, spec.decays});
  } else if (operation.inputs_first) {
    operation.weights = add_parameter(
        {spec.name + "/kernel:0", {in.channels, spec.outputs}, spec.weights, spec.decays});
    operation.bias = add_parameter({spec.name + "/bias:0", {spec.outputs}, spec.bias, false});
  } else {
    operation.weights = add_parameter(
        {spec.name + ".weight", {spec.outputs, in.channels}, spec.weights, spec.decays});
    operation.bias = add_parameter({spec.name + ".bias", {spec.outputs}, spec.bias, false});
  }
  return append(std::move(operation));
}

ValueId Network::activation(ValueId src, const ActivationSpec& spec) {
  const SampleShape in = shape(src);
  require(in.spatial.empty(), spec.name, "a vector", to_text(in));
  require(spec.dropout >= 0.0 && spec.dropout < 1.0, spec.name, "dropout of 0 to below 1",
          std::to_string(spec.dropout));
  Operation operation;
  operation.kind = OperationKind::kActivation;
  operation.name = spec.name;
  operation.src = src;
  operation.function = spec.function;
  operation.slope = spec.slope;
  operation.scale = spec.scale;
  operation.dropout = spec.dropout;
  operation.dst = in;
  return append(std::move(operation));
}

ValueId Network::dot_interaction(ValueId src, ValueId features) {
  const SampleShape in = shape(src), others = shape(features);
  require(in.spatial.empty(), "dot_interaction", "a vector", to_text(in));
  require(others.spatial.empty() && others.channels % in.channels == 0, "dot_interaction",
          fmt::format("whole features of {} channels", in.channels), to_text(others));
  Operation operation;
  operation.kind = OperationKind::kDotInteraction;
  operation.name = "dot_interaction";
  operation.src = src;
  operation.features = features;
  const std::int64_t count = 1 + others.channels / in.channels;
  operation.dst = {in.channels + count * (count - 1) / 2, {}};
  return append(std::move(operation));
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
      return weights() * operation.dst.points();
    case OperationKind::kConvolutionPool:
    case OperationKind::kDeconvolution:
      return weights() * shape(operation.src).points();
    default:
      return 0;
  }
}

std::int64_t Network::training_macs(const Operation& operation) const {
  // Of a product's two operands each has a gradient of as much work, if anybody wants it.
  return forward_macs(operation) * (operation.src < 0 || has_gradient(operation.src) ? 3 : 2);
}

std::int64_t Network::forward_macs() const {
  std::int64_t macs = 0;
  for (const Operation& operation : operations_) macs += forward_macs(operation);
  return macs;
}

bool is_atrous(const Operation& operation) {
  return std::any_of(operation.dilation.begin(), operation.dilation.end(),
                     [](std::int64_t apart) { return apart > 1; });
}

}  // namespace nn
