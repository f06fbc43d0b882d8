// Shapes of a chain, parts of tensors, and some well-known chains.
#include "workloads/parallel/split_layers/chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/base/error.h"
#include "workloads/nn/network_checks.h"

namespace parallel {
namespace {

using Kind = ChainLayer::Kind;

std::vector<std::int64_t> window_extents(const ChainLayer& layer, const nn::SampleShape& in) {
  const nn::Operation window =
      nn::network::windowed(nn::OperationKind::kMaxPool, layer.name, 0, layer.kernel, layer.stride,
                            nn::uniform_padding(2, layer.padding, layer.padding), in);
  return nn::network::window_extents(window, in);
}

nn::SampleShape shape_after(const ChainLayer& layer, const nn::SampleShape& in) {
  const bool needs_image = layer.kind != Kind::kFullyConnected;
  if (needs_image && in.spatial.size() != 2) {
    throw base::ShapeError(fmt::format("{}: expected an image, got a vector", layer.name));
  }
  switch (layer.kind) {
    case Kind::kFullyConnected:
      return {layer.channels, {}};
    case Kind::kAveragePool:
      return {in.channels, {}};
    case Kind::kBatchNorm:
      return in;
    case Kind::kConvolution:
    case Kind::kMaxPool:
      return {layer.kind == Kind::kConvolution ? layer.channels : in.channels,
              window_extents(layer, in)};
  }
  throw base::Error(base::ExitCode::kInternal, "no such layer");
}

/// Elements before, along, and behind an axis.
struct AxisView {
  std::int64_t outer = 1, extent = 1, inner = 1;
  AxisView(const std::vector<std::int64_t>& shape, std::size_t axis) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      (i < axis ? outer : i == axis ? extent : inner) *= shape[i];
    }
  }
};

ChainLayer convolution(const std::string& name, std::int64_t channels, std::int64_t kernel,
                       std::int64_t stride, std::int64_t padding) {
  return {Kind::kConvolution, name, channels, kernel, stride, padding, true};
}

ChainLayer pool(const std::string& name, std::int64_t kernel, std::int64_t stride) {
  return {Kind::kMaxPool, name, 0, kernel, stride, 0, false};
}

void add_classifier(Chain& chain, const std::string& name, int first) {
  constexpr std::int64_t kHidden = 4096, kClasses = 1000;
  for (int i = 0; i < 3; ++i) {
    chain.layers.push_back({.kind = Kind::kFullyConnected,
                            .name = name + std::to_string(first + i),
                            .channels = i < 2 ? kHidden : kClasses,
                            .relu = i < 2});
  }
}

}  // namespace

std::vector<nn::SampleShape> shapes_of(const Chain& chain) {
  std::vector<nn::SampleShape> shapes;
  nn::SampleShape shape = chain.input;
  for (const ChainLayer& layer : chain.layers) {
    shape = shape_after(layer, shape);
    if (shape.size() <= 0) {
      throw base::ShapeError(layer.name + ": expected positive channels");
    }
    shapes.push_back(shape);
  }
  if (shapes.empty() || !shapes.back().spatial.empty()) {
    throw base::ShapeError("chain: expected layers, of which the last gives a vector");
  }
  return shapes;
}

std::vector<WeightedLayer> weighted_layers(const Chain& chain) {
  const std::vector<nn::SampleShape> shapes = shapes_of(chain);
  std::vector<WeightedLayer> layers;
  for (std::size_t i = 0; i < chain.layers.size(); ++i) {
    const ChainLayer& layer = chain.layers[i];
    if (!layer.has_weights()) continue;
    const nn::SampleShape& in = i == 0 ? chain.input : shapes[i - 1];
    const std::int64_t inputs =
        layer.kind == Kind::kFullyConnected ? in.size() : in.channels * layer.kernel * layer.kernel;
    layers.push_back({i, in, shapes[i], inputs * layer.channels});
  }
  return layers;
}

std::vector<float> ParameterPart::of(const std::vector<float>& values) const {
  const AxisView view(whole.shape, axis);
  std::vector<float> part;
  part.reserve(static_cast<std::size_t>(view.outer * range.count() * view.inner));
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    const auto first = values.begin() + (outer * view.extent + range.begin) * view.inner;
    part.insert(part.end(), first, first + range.count() * view.inner);
  }
  return part;
}

void ParameterPart::put(const std::vector<float>& values, std::vector<float>& into) const {
  const AxisView view(whole.shape, axis);
  const std::int64_t row = range.count() * view.inner;
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    std::copy_n(values.begin() + outer * row, row,
                into.begin() + (outer * view.extent + range.begin) * view.inner);
  }
}

Chain alexnet() {
  Chain chain = {{3, {224, 224}}, {}};
  chain.layers = {convolution("conv1", 96, 11, 4, 2), pool("pool1", 3, 2),
                  convolution("conv2", 256, 5, 1, 2), pool("pool2", 3, 2),
                  convolution("conv3", 384, 3, 1, 1), convolution("conv4", 384, 3, 1, 1),
                  convolution("conv5", 256, 3, 1, 1), pool("pool5", 3, 2)};
  add_classifier(chain, "fc", 6);
  return chain;
}

Chain vgg16() {
  Chain chain = {{3, {224, 224}}, {}};
  std::int64_t channels = 64;
  for (int block = 1; block <= 5; ++block) {
    for (int i = 1; i <= (block <= 2 ? 2 : 3); ++i) {
      chain.layers.push_back(convolution(fmt::format("conv{}_{}", block, i), channels, 3, 1, 1));
    }
    chain.layers.push_back(pool(fmt::format("pool{}", block), 2, 2));
    channels = std::min<std::int64_t>(2 * channels, 512);
  }
  add_classifier(chain, "fc", 6);
  return chain;
}

Chain perceptron(const std::vector<std::int64_t>& widths) {
  Chain chain;
  if (widths.size() < 2) {
    throw base::ConfigError(
        "perceptron: expected the inputs and the outputs of at least one layer");
  }
  chain.input = {widths.front(), {}};
  for (std::size_t i = 1; i < widths.size(); ++i) {
    chain.layers.push_back({.kind = Kind::kFullyConnected,
                            .name = fmt::format("fc{}", i),
                            .channels = widths[i],
                            .relu = i + 1 < widths.size()});
  }
  return chain;
}

}  // namespace parallel
