// Builder of network descriptions.
// Hides shape arithmetic and its checks.
#include "workloads/nn/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "runner/base/error.h"
#include "workloads/nn/volume_kernels.h"

namespace nn {
namespace {

std::int64_t product(const std::vector<std::int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

std::string to_text(const SampleShape& shape) {
  return fmt::format("[{}, {}]", shape.channels, fmt::join(shape.spatial, ", "));
}

void require(bool condition, const std::string& name, const std::string& expected,
             const std::string& found) {
  if (!condition) {
    throw base::ShapeError(fmt::format("network: {}: expected {}, got {}", name, expected, found));
  }
}

std::vector<std::int64_t> window_extents(const Operation& operation, const SampleShape& src) {
  std::vector<std::int64_t> extents;
  for (std::size_t axis = 0; axis < src.spatial.size(); ++axis) {
    const std::int64_t padded =
        src.spatial[axis] + operation.padding.begin[axis] + operation.padding.end[axis];
    require(padded >= operation.kernel[axis], operation.name,
            fmt::format("a padded extent of at least {}", operation.kernel[axis]), to_text(src));
    extents.push_back((padded - operation.kernel[axis]) / operation.stride[axis] + 1);
  }
  return extents;
}

Operation windowed(OperationKind kind, const std::string& name, ValueId src, std::int64_t kernel,
                   std::int64_t stride, const Padding& padding, const SampleShape& shape) {
  const std::size_t axes = shape.spatial.size();
  require(kernel > 0 && stride > 0, name, "positive kernel and stride",
          fmt::format("{} and {}", kernel, stride));
  Operation operation;
  operation.kind = kind;
  operation.name = name;
  operation.src = src;
  operation.kernel.assign(axes, kernel);
  operation.stride.assign(axes, stride);
  operation.padding =
      padding.begin.empty() ? uniform_padding(static_cast<std::int64_t>(axes), 0, 0) : padding;
  require(operation.padding.begin.size() == axes && operation.padding.end.size() == axes, name,
          fmt::format("padding on {} axes", axes), to_text(shape));
  return operation;
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
  require(spec.channels > 0, spec.name, "positive channels", std::to_string(spec.channels));
  operation.dst = {spec.channels, window_extents(operation, in)};
  std::vector<std::int64_t> weights = {spec.channels, in.channels};
  weights.insert(weights.end(), operation.kernel.begin(), operation.kernel.end());
  operation.weights = add_parameter({spec.name + ".weight", weights, spec.initializer, true});
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
  if (operation.inputs_first) {
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

ValueId Network::convolution_pool(ValueId src, const ConvolutionPoolSpec& spec) {
  constexpr std::int64_t kTaps = 3, kMargin = 1;
  const SampleShape in = shape(src);
  const auto is_even = [](std::int64_t extent) { return extent > 0 && extent % 2 == 0; };
  require(in.spatial.size() == 3 && in.margin == kMargin &&
              std::all_of(in.spatial.begin(), in.spatial.end(), is_even),
          spec.name, "a volume of even extents with a margin of 1", to_text(in));
  require(spec.channels > 0 && spec.channels % Volume::kBlock == 0, spec.name,
          fmt::format("channels in a multiple of {}", Volume::kBlock),
          std::to_string(spec.channels));
  require(in.channels % Volume::kBlock == 0 || in.channels <= Volume::kNarrow, spec.name,
          fmt::format("source channels in a multiple of {}, or at most {}", Volume::kBlock,
                      Volume::kNarrow),
          to_text(in));
  require(spec.slope > 0.0, spec.name, "a slope above 0", std::to_string(spec.slope));
  Operation operation;
  operation.kind = OperationKind::kConvolutionPool;
  operation.name = spec.name;
  operation.src = src;
  operation.slope = spec.slope;
  operation.kernel.assign(in.spatial.size(), kTaps);
  operation.stride.assign(in.spatial.size(), 1);
  operation.padding =
      uniform_padding(static_cast<std::int64_t>(in.spatial.size()), kMargin, kMargin);
  using Gives = ConvolutionPoolSpec::Gives;
  operation.is_part = spec.is_part;
  operation.gives_floats = spec.gives == Gives::kVector || spec.gives == Gives::kPartOfVector;
  SampleShape dst = {spec.channels, in.spatial, spec.gives == Gives::kVolume ? kMargin : 0};
  for (std::int64_t& extent : dst.spatial) extent /= 2;
  operation.dst =
      spec.gives == Gives::kVector ? SampleShape{spec.channels * dst.points(), {}} : dst;
  operation.weights = add_parameter({spec.name + "/kernel:0",
                                     {kTaps, kTaps, kTaps, in.channels, spec.channels},
                                     spec.weights,
                                     false});
  operation.bias = add_parameter({spec.name + "/bias:0", {spec.channels}, spec.bias, false});
  return append(std::move(operation));
}

ValueId Network::gather_volume(ValueId src, std::int64_t depth_parts, std::int64_t height_parts,
                               bool flattens) {
  const SampleShape in = shape(src);
  require(in.spatial.size() == 3 && in.margin == 0 && depth_parts > 0 && height_parts > 0,
          "gather_volume", "parts of a volume without margin", to_text(in));
  Operation operation;
  operation.kind = OperationKind::kGatherVolume;
  operation.name = "gather_volume";
  operation.src = src;
  operation.depth_parts = depth_parts;
  operation.height_parts = height_parts;
  SampleShape dst = {in.channels, in.spatial, 1};
  dst.spatial[0] *= depth_parts;
  dst.spatial[1] *= height_parts;
  operation.dst = flattens ? SampleShape{in.channels * dst.points(), {}} : dst;
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
    case OperationKind::kFullyConnected:
      return weights() * operation.dst.points();
    case OperationKind::kConvolutionPool:
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

}  // namespace nn
