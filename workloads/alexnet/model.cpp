// The layers of AlexNet.
#include "workloads/alexnet/model.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "runner/base/ceil_div.h"

namespace alexnet {
namespace {

using nn::Distribution;
using nn::Initializer;
using nn::ValueId;

/// A convolution as published.
struct Layer {
  const char* name;
  std::int64_t channels_of_96;  ///< where the first has 96
  std::int64_t kernel, stride, padding, groups;
  double bias;  ///< initial, with response norms
  bool pools;
};

constexpr Layer kLayers[] = {{"conv1", 96, 11, 4, 0, 1, 0.0, true},
                             {"conv2", 256, 5, 1, 2, 2, 0.1, true},
                             {"conv3", 384, 3, 1, 1, 1, 0.0, false},
                             {"conv4", 384, 3, 1, 1, 2, 0.1, false},
                             {"conv5", 256, 3, 1, 1, 2, 0.1, true}};
constexpr Layer kSmallStem = {"conv1", 96, 5, 1, 2, 1, 0.0, true};
constexpr std::int64_t kPublishedWidth = 96;

class Builder {
 public:
  explicit Builder(const ModelConfig& config) : config_(config) {}

  nn::Network build() {
    ValueId x = net_.input({3, {config_.image_size, config_.image_size}});
    for (const Layer& layer : kLayers) {
      const bool is_first = &layer == std::begin(kLayers);
      x = block(x, is_first && config_.stem == Stem::kSmall ? kSmallStem : layer);
    }
    x = net_.flatten(x);
    for (const char* name : {"fc6", "fc7"}) {
      x = net_.fully_connected(
          x, {name, config_.hidden, fc_weights(x, 0.005), constant(is_he() ? 0.0 : 0.1), true});
      if (config_.dropout == 0.0) continue;
      x = net_.activation(x, {name == std::string_view("fc6") ? "drop6" : "drop7",
                              nn::ActivationFunction::kIdentity, 0.0, 1.0, config_.dropout});
    }
    net_.fully_connected(x, {"fc8", config_.classes, fc_weights(x, 0.01),
                             constant(normalizes() ? kSmallBias : 0.0)});
    return std::move(net_);
  }

 private:
  static constexpr double kSmallBias = 0.01;  ///< of networks with batch norms

  bool is_he() const { return config_.initialization == Initialization::kHe; }
  bool normalizes() const { return !is_he() && config_.normalization != Normalization::kResponse; }
  static Initializer constant(double value) { return {Distribution::kConstant, 0.0, value}; }
  static Initializer normal(double deviation) { return {Distribution::kNormal, deviation, 0.0}; }
  static Initializer he(std::int64_t fan_in) {
    return normal(std::sqrt(2.0 / static_cast<double>(fan_in)));
  }
  Initializer fc_weights(ValueId src, double published) const {
    return is_he() ? he(net_.shape(src).channels) : normal(published);
  }
  Initializer bias_of(const Layer& layer) const {
    return constant(is_he() ? 0.0 : normalizes() ? kSmallBias : layer.bias);
  }

  /// Windows of 3 with stride 2; the number of outputs is rounded up, as in Caffe.
  ValueId pool(ValueId src) {
    constexpr std::int64_t kWindow = 3, kStride = 2;
    const std::int64_t in = net_.shape(src).spatial.front();
    const std::int64_t steps = base::ceil_div(std::max<std::int64_t>(in - kWindow, 0), kStride);
    const std::int64_t end = steps * kStride + kWindow - in;
    return net_.max_pool(src, {kWindow, kStride, nn::uniform_padding(2, 0, end)});
  }

  /// "3" of "conv3".
  static const char* number_of(const Layer& layer) {
    return layer.name + std::string_view("conv").size();
  }

  ValueId batch_norm(ValueId src, const Layer& layer, bool relu, bool affine) {
    nn::BatchNormSpec spec = {std::string("bn") + number_of(layer), relu};
    spec.epsilon = 1e-4;
    spec.affine = affine;
    return net_.batch_norm(src, spec);
  }

  ValueId block(ValueId src, const Layer& layer) {
    const bool is_first = layer.name == std::string_view("conv1");
    const bool is_last = layer.name == std::string_view("conv5");
    const std::int64_t channels = layer.channels_of_96 * config_.width / kPublishedWidth;
    const std::int64_t fan_in =
        net_.shape(src).channels / layer.groups * layer.kernel * layer.kernel;
    nn::ConvolutionSpec spec = {layer.name,
                                channels,
                                layer.kernel,
                                layer.stride,
                                nn::uniform_padding(2, layer.padding, layer.padding),
                                is_he() ? he(fan_in) : normal(0.01)};
    spec.groups = layer.groups;
    const bool norms_first = config_.normalization == Normalization::kBatchFirst;
    // The published file has this bias, too, although a batch norm follows.
    if (norms_first && is_last) spec.bias = constant(is_he() ? 0.0 : layer.bias);
    ValueId x = net_.convolution(src, spec);
    x = norms_first ? batch_norm(x, layer, true, true)
                    : net_.biased(x, {std::string("relu") + number_of(layer), bias_of(layer), true,
                                      layer.name});
    const bool is_early = is_first || layer.name == std::string_view("conv2");
    if (config_.normalization == Normalization::kResponse && is_early) {
      x = net_.response_norm(x, std::string("norm") + number_of(layer), {});
    }
    if (layer.pools) x = pool(x);
    const bool norms_behind = config_.normalization == Normalization::kBatch ||
                              config_.normalization == Normalization::kBatchAffine;
    if (norms_behind && !is_last) {
      x = batch_norm(x, layer, false, config_.normalization == Normalization::kBatchAffine);
    }
    return x;
  }

  const ModelConfig config_;
  nn::Network net_;
};

}  // namespace

ModelConfig parse_model(const base::ObjectReader& in) {
  ModelConfig model;
  model.normalization = in.choice<Normalization>(
      "normalization", model.normalization,
      {{"response", Normalization::kResponse},
       {"batch", Normalization::kBatch},
       {"batch_affine", Normalization::kBatchAffine},
       {"batch_first", Normalization::kBatchFirst}},
      "response: local response norms; batch: AlexNet-BN, batch norms without parameters behind "
      "pools and ReLUs; batch_affine: with gamma and beta; batch_first: before each ReLU");
  model.stem =
      in.choice<Stem>("stem", model.stem, {{"imagenet", Stem::kImagenet}, {"small", Stem::kSmall}},
                      "imagenet: 11x11 with stride 4; small: 5x5, for 32 to 64 pixels");
  model.width = in.optional<std::int64_t>(
      "width", model.width,
      "channels of the first convolution, to which the others are in "
      "proportion",
      {"must be a multiple of 6 from 6 to 1536",
       [](const std::int64_t& w) { return w >= 6 && w <= 1536 && w % 6 == 0; }});
  model.hidden =
      in.optional("hidden", model.hidden, "width of the first two fully connected layers",
                  base::within(1, 65536));
  model.image_size = in.optional("image_size", model.image_size, "side of the square input",
                                 base::within(16, 4096));
  model.classes = in.optional("classes", model.classes, "outputs", base::within(2, 1'000'000));
  model.dropout = in.optional<double>(
      "dropout", model.dropout, "share of these layers' outputs that training drops",
      {"must be at least 0 and below 1", [](const double& d) { return d >= 0.0 && d < 1.0; }});
  model.initialization = in.choice<Initialization>(
      "initialization", model.initialization,
      {{"published", Initialization::kPublished}, {"he", Initialization::kHe}},
      "published: N(0, 0.01), of fc6 and fc7 N(0, 0.005), small biases; he: N(0, 2 / fan-in), no "
      "biases, for small networks");
  return model;
}

nn::Network build_network(const ModelConfig& config) { return Builder(config).build(); }

}  // namespace alexnet
