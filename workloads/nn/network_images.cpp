// Network: operations on images.
#include <fmt/format.h>

#include <utility>

#include "workloads/nn/network_checks.h"

namespace nn {

using network::require;
using network::to_text;
using network::window_extents;
using network::windowed;

ValueId Network::depthwise_convolution(ValueId src, const DepthwiseSpec& spec) {
  constexpr std::int64_t kTaps = 3;
  const SampleShape in = shape(src);
  require(in.spatial.size() == 2 && in.margin == 0, spec.name, "an image", to_text(in));
  require(spec.dilation > 0 && (spec.stride == 1 || spec.dilation == 1), spec.name,
          "a positive dilation, or a stride", fmt::format("{} and {}", spec.dilation, spec.stride));
  Operation operation = windowed(OperationKind::kDepthwise, spec.name, src, kTaps, spec.stride,
                                 uniform_padding(2, spec.dilation, spec.dilation), in);
  operation.dilation.assign(in.spatial.size(), spec.dilation);
  operation.dst = {in.channels, window_extents(operation, in)};
  operation.weights = add_parameter(
      {spec.name + ".weight", {in.channels, 1, kTaps, kTaps}, spec.initializer, true});
  return append(std::move(operation));
}

ValueId Network::deconvolution(ValueId src, const DeconvolutionSpec& spec) {
  const SampleShape in = shape(src);
  require(in.spatial.size() == 2 && in.margin == 0, spec.name, "an image", to_text(in));
  require(spec.channels > 0, spec.name, "positive channels", std::to_string(spec.channels));
  Operation operation = windowed(OperationKind::kDeconvolution, spec.name, src, spec.kernel,
                                 spec.stride, spec.padding, in);
  operation.dst.channels = spec.channels;
  for (std::size_t axis = 0; axis < in.spatial.size(); ++axis) {
    const std::int64_t extent = (in.spatial[axis] - 1) * spec.stride + spec.kernel -
                                operation.padding.begin[axis] - operation.padding.end[axis];
    require(extent > 0, spec.name, "an output larger than the padding", to_text(in));
    operation.dst.spatial.push_back(extent);
  }
  operation.weights = add_parameter({spec.name + ".weight",
                                     {in.channels, spec.channels, spec.kernel, spec.kernel},
                                     spec.initializer,
                                     true});
  return append(std::move(operation));
}

ValueId Network::concatenation(const std::vector<ValueId>& values) {
  require(!values.empty(), "concatenation", "values", "none");
  Operation operation;
  operation.kind = OperationKind::kConcatenation;
  operation.name = "concatenation";
  operation.src = values.front();
  operation.others.assign(values.begin() + 1, values.end());
  operation.dst = shape(operation.src);
  for (const ValueId value : operation.others) {
    const SampleShape other = shape(value);
    require(other.spatial == operation.dst.spatial && other.margin == operation.dst.margin,
            operation.name, "images as large as " + to_text(operation.dst), to_text(other));
    operation.dst.channels += other.channels;
  }
  return append(std::move(operation));
}

ValueId Network::spread(ValueId src, const std::string& name,
                        const std::vector<std::int64_t>& spatial) {
  const SampleShape in = shape(src);
  require(in.spatial.empty(), name, "a vector", to_text(in));
  Operation operation;
  operation.kind = OperationKind::kSpread;
  operation.name = name;
  operation.src = src;
  operation.dst = {in.channels, spatial};
  require(operation.dst.spatial_size() > 0 && spatial.size() == 2, name, "an image",
          to_text(operation.dst));
  const Initializer one = {Distribution::kConstant, 0.0, 1.0};
  operation.weights = add_parameter({name + ".weights", {in.channels, 1, 1}, one, false});
  operation.bias = add_parameter({name + ".bias", {in.channels, 1, 1}, {}, false});
  return append(std::move(operation));
}

ValueId Network::response_norm(ValueId src, const std::string& name, const ResponseNorm& numbers) {
  const SampleShape in = shape(src);
  require(in.spatial.size() == 2 && in.margin == 0, name, "an image", to_text(in));
  require(numbers.size > 0 && numbers.size % 2 == 1 && numbers.k > 0.0, name,
          "an odd window and k above 0", fmt::format("{} and {}", numbers.size, numbers.k));
  Operation operation;
  operation.kind = OperationKind::kResponseNorm;
  operation.name = name;
  operation.src = src;
  operation.response = numbers;
  operation.dst = in;
  operation.dst.channels_last = false;
  return append(std::move(operation));
}

ValueId Network::flatten(ValueId src) {
  const SampleShape in = shape(src);
  require(in.spatial.size() == 2 && in.margin == 0, "flatten", "an image", to_text(in));
  Operation operation;
  operation.kind = OperationKind::kFlatten;
  operation.name = "flatten";
  operation.src = src;
  operation.dst = {in.size(), {}};
  return append(std::move(operation));
}

}  // namespace nn
