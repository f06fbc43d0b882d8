// Network: operations common to images, volumes and vectors.
#include <fmt/format.h>

#include <utility>

#include "workloads/nn/network.h"
#include "workloads/nn/network_checks.h"

namespace nn {

using network::require;
using network::to_text;
using network::window_extents;
using network::windowed;

ParameterId Network::add_parameter(ParameterSpec spec) {
  for (const ParameterSpec& known : parameters_) {
    require(known.name != spec.name, spec.name, "a name used once", "it twice");
  }
  parameters_.push_back(std::move(spec));
  return static_cast<ParameterId>(parameters_.size()) - 1;
}

ValueId Network::input(const SampleShape& shape, InputGradient gradient) {
  require(inputs() == static_cast<std::int64_t>(operations_.size()), "input",
          "inputs before other operations",
          "one after operation " + std::to_string(operations_.size()));
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
  require(spec.groups > 0 && spec.channels % spec.groups == 0 && in.channels % spec.groups == 0,
          spec.name, "groups that divide both numbers of channels",
          fmt::format("{} groups of {} and {} channels", spec.groups, in.channels, spec.channels));
  operation.groups = spec.groups;
  operation.dilation.assign(in.spatial.size(), spec.dilation);
  operation.dst = {spec.channels, window_extents(operation, in)};
  std::vector<std::int64_t> weights = {spec.channels, in.channels / spec.groups};
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
  if (spec.affine) {
    const Initializer gamma = {Distribution::kConstant, 0.0, spec.gamma};
    operation.weights = add_parameter({spec.name + ".weight", {in.channels}, gamma, false});
    operation.bias = add_parameter({spec.name + ".bias", {in.channels}, {}, false});
  }
  operation.statistics = static_cast<int>(statistics_.size());
  statistics_.push_back({spec.name, in.channels});
  return append(std::move(operation));
}

ValueId Network::sum(const std::string& name, ValueId src, ValueId other) {
  const SampleShape in = shape(src), added = shape(other);
  require(src != other, name, "two values", "one twice");
  require(added.channels == in.channels && added.spatial == in.spatial && added.margin == in.margin,
          name, "an addend of shape " + to_text(in), to_text(added));
  Operation operation;
  operation.kind = OperationKind::kSum;
  operation.name = name;
  operation.src = src;
  operation.residual = other;
  operation.dst = in;
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
  require(!spec.relu || is_vector_layer(operation), spec.name,
          "a source that is an input, fully connected or an interaction before its ReLU",
          operations_[static_cast<std::size_t>(src)].name);
  operation.dst = {spec.outputs, {}};
  operation.inputs_first = spec.style == ParameterStyle::kKeras;
  const bool has_bias = spec.has_bias && spec.style != ParameterStyle::kPointwise;
  require(has_bias || !spec.relu, spec.name, "a bias before its ReLU", "none");
  if (spec.style == ParameterStyle::kPointwise) {
    operation.weights = add_parameter(
        {spec.name + ".weight", {spec.outputs, in.channels, 1, 1}, spec.weights, spec.decays});
  } else if (operation.inputs_first) {
    operation.weights = add_parameter(
        {spec.name + "/kernel:0", {in.channels, spec.outputs}, spec.weights, spec.decays});
  } else {
    operation.weights = add_parameter(
        {spec.name + ".weight", {spec.outputs, in.channels}, spec.weights, spec.decays});
  }
  if (has_bias) {
    const char* const bias = operation.inputs_first ? "/bias:0" : ".bias";
    operation.bias = add_parameter({spec.name + bias, {spec.outputs}, spec.bias, false});
  }
  return append(std::move(operation));
}

ValueId Network::biased(ValueId src, const BiasedSpec& spec) {
  const SampleShape in = shape(src);
  require((in.spatial.empty() || in.spatial.size() == 2) && in.margin == 0, spec.name,
          "an image or a vector", to_text(in));
  Operation operation;
  operation.kind = OperationKind::kBiased;
  operation.name = spec.name;
  operation.src = src;
  operation.relu = spec.relu;
  operation.dst = in;
  operation.dst.channels_last = false;
  if (spec.bias) {
    const std::string& owner = spec.owner.empty() ? spec.name : spec.owner;
    operation.bias = add_parameter({owner + ".bias", {in.channels}, *spec.bias, false});
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

}  // namespace nn
