// The parts of DeepLabv3+.
#include "workloads/deepcam/model.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"

namespace deepcam {
namespace {

using nn::Distribution;
using nn::Initializer;
using nn::ValueId;

constexpr std::int64_t kSide = 3;  ///< kernel size of all convolutions but the pointwise ones

/// He's normal weights, by fan-in.
Initializer he_normal(std::int64_t fan_in) {
  return {Distribution::kNormal, std::sqrt(2.0 / static_cast<double>(fan_in)), 0.0};
}

/// PyTorch's default initial weights.
Initializer usual(std::int64_t fan_in) {
  return {Distribution::kUniform, 1.0 / std::sqrt(static_cast<double>(fan_in)), 0.0};
}

struct Block {
  std::string name;
  std::int64_t channels;
  int repetitions;
  std::int64_t stride = 1;
  bool grows_first = true;  ///< the first convolution, not the last, changes the channels
  bool is_last = false;     ///< last block of the encoder: one more convolution
  bool relu = true;
};

class Builder {
 public:
  explicit Builder(const ModelConfig& config) : config_(config) {}

  nn::Network build() {
    const auto [features, low_level] =
        encode(net_.input({config_.inputs, {config_.height, config_.width}, 0, true}));
    const ValueId pyramid = pool(features);
    ValueId low = net_.convolution(low_level, pointwise("conv2", low_level, config_.low_level));
    low = norm(low, "bn2");
    decode(pyramid, low);
    return std::move(net_);
  }

 private:
  std::int64_t channels(ValueId value) const { return net_.shape(value).channels; }
  ValueId norm(ValueId src, const std::string& name, bool relu = true,
               std::optional<ValueId> residual = {}) {
    return net_.batch_norm(src, {name + ".bn", relu}, residual);
  }
  /// A 1 x 1 convolution with PyTorch's default weights.
  nn::ConvolutionSpec pointwise(const std::string& name, ValueId src, std::int64_t to) const {
    nn::ConvolutionSpec spec;
    spec.name = name;
    spec.channels = to;
    spec.initializer = usual(channels(src));
    return spec;
  }
  nn::ConvolutionSpec square(const std::string& name, ValueId src, std::int64_t to) const {
    nn::ConvolutionSpec spec = pointwise(name, src, to);
    spec.kernel = kSide;
    spec.padding = nn::uniform_padding(2, 1, 1);
    spec.initializer = usual(channels(src) * kSide * kSide);
    return spec;
  }
  static nn::ConvolutionSpec he(nn::ConvolutionSpec spec, std::int64_t fan_in) {
    spec.initializer = he_normal(fan_in);
    return spec;
  }

  /// A depthwise convolution followed directly by a pointwise one.
  ValueId separable(ValueId src, const std::string& name, std::int64_t to, std::int64_t stride = 1,
                    std::int64_t dilation = 1) {
    const std::int64_t from = channels(src);
    const ValueId x = net_.depthwise_convolution(
        src, {name + ".conv1", stride, dilation, he_normal(kSide * kSide)});
    return net_.convolution(x, he(pointwise(name + ".pointwise", x, to), from));
  }

  ValueId block(ValueId src, const Block& block) {
    const std::string name = "xception_features." + block.name;
    const std::int64_t from = channels(src);
    int place = 0;  // index in the reference's sequence, which counts ReLUs
    const auto next = [&](int count) {
      const int at = place;
      place += count;
      return fmt::format("{}.rep.{}", name, at);
    };
    const bool ends_without_norm = block.stride > 1 || block.is_last;
    ValueId x = src;
    for (int i = 0; i < block.repetitions; ++i) {
      const bool is_end = i + 1 == block.repetitions;
      const bool grown = block.grows_first || is_end;
      x = separable(x, next(1), grown ? block.channels : from);
      const std::string norm_name = next(1);
      const bool adds = is_end && !ends_without_norm;
      if (adds && block.channels == from) return norm(x, norm_name, block.relu, src);
      x = norm(x, norm_name, !is_end);
      if (!is_end) next(1);
    }
    x = separable(x, next(1), block.channels, block.stride);
    nn::ConvolutionSpec skip = pointwise(name + ".skip", src, block.channels);
    skip.stride = block.stride;
    const ValueId skipped = net_.convolution(src, he(skip, from));
    return norm(skipped, name + ".skipbn", block.relu, x);
  }

  ValueId exit(ValueId src, int number, std::int64_t to) {
    const std::string name = "xception_features.";
    const ValueId x = separable(src, fmt::format("{}conv{}", name, number), to, 1, 2);
    return norm(x, fmt::format("{}bn{}", name, number));
  }

  struct Encoded {
    ValueId features, low_level;
  };
  Encoded encode(ValueId input) {
    const std::string name = "xception_features.";
    nn::ConvolutionSpec first =
        he(square(name + "conv1", input, config_.conv1), config_.inputs * kSide * kSide);
    first.stride = 2;
    ValueId x = norm(net_.convolution(input, first), name + "bn1");
    x = net_.convolution(
        x, he(square(name + "conv2", x, config_.conv2), config_.conv1 * kSide * kSide));
    x = norm(x, name + "bn2");
    // The decoder also takes this value after its ReLU.
    const ValueId low_level = block(x, {"block1", config_.block1, 2, 2});
    x = block(low_level, {"block2", config_.block2, 2, 2});
    x = block(x, {"block3", config_.middle, 2, 2});
    for (std::int64_t i = 0; i < config_.middle_blocks; ++i) {
      x = block(x, {fmt::format("block{}", 4 + i), config_.middle, 3});
    }
    const std::string last = fmt::format("block{}", 4 + config_.middle_blocks);
    x = block(x, {last, config_.block20, 2, 1, false, true, false});
    x = exit(x, 3, config_.conv3);
    x = exit(x, 4, config_.conv4);
    return {exit(x, 5, config_.conv5), low_level};
  }

  ValueId pool(ValueId features) {
    const std::string name = "bottleneck.";
    std::vector<ValueId> pooled;
    constexpr std::int64_t kRates[] = {1, 6, 12, 18};
    for (std::size_t i = 0; i < std::size(kRates); ++i) {
      const std::string branch = fmt::format("{}aspp{}.", name, i + 1);
      const std::int64_t rate = kRates[i], from = channels(features);
      nn::ConvolutionSpec spec = pointwise(branch + "atrous_convolution", features, config_.aspp);
      spec.initializer = he_normal(from);
      if (rate > 1) {
        spec.kernel = kSide;
        spec.dilation = rate;
        spec.padding = nn::uniform_padding(2, rate, rate);
        spec.initializer = he_normal(from * kSide * kSide);
      }
      pooled.push_back(norm(net_.convolution(features, spec), branch + "bn"));
    }
    const std::string image = name + "global_avg_pool.global_average_pool.";
    ValueId mean = net_.global_average_pool(features);
    nn::FullyConnectedSpec product;
    product.name = image + "1";
    product.outputs = config_.aspp;
    product.weights = usual(channels(mean));
    product.style = nn::ParameterStyle::kPointwise;
    mean = net_.fully_connected(mean, product);
    pooled.push_back(net_.spread(mean, image + "2", net_.shape(features).spatial));
    const ValueId all = net_.concatenation(pooled);
    const ValueId x = net_.convolution(all, pointwise(name + "conv", all, config_.aspp));
    return norm(x, name + "bn");
  }

  ValueId twice(ValueId src, const std::string& name, std::int64_t to) {
    return net_.deconvolution(src,
                              {name, to, kSide, 2, {{1, 1}, {0, 0}}, usual(to * kSide * kSide)});
  }

  void decode(ValueId pyramid, ValueId low_level) {
    const std::string name = "upsample.";
    const std::int64_t width = config_.decoder;
    ValueId x = norm(twice(pyramid, name + "deconv1.0", width), name + "deconv1.1");
    x = norm(twice(x, name + "deconv1.3", width), name + "deconv1.4");
    x = net_.concatenation({x, low_level});
    x = norm(net_.convolution(x, square(name + "conv1.0", x, width)), name + "conv1.1");
    x = norm(net_.convolution(x, square(name + "conv1.3", x, width)), name + "conv1.4");
    nn::ConvolutionSpec biased = pointwise(name + "conv1.6", x, width);
    biased.bias = usual(channels(x));
    x = net_.convolution(x, biased);
    x = norm(twice(x, name + "deconv2.0", width), name + "deconv2.1");
    twice(x, name + "last_deconv.0", kClasses);
  }

  const ModelConfig config_;
  nn::Network net_;
};

}  // namespace

ModelConfig parse_model(const base::ObjectReader& in) {
  ModelConfig model;
  const base::Check<std::int64_t> side = {
      "must be a multiple of 16, at most 16384", [](const std::int64_t& points) {
        return points > 0 && points % kResolutions == 0 && points <= 16384;
      }};
  model.height = in.optional("height", model.height, "points from north to south", side);
  model.width = in.optional("width", model.width, "points from west to east", side);
  model.middle_blocks = in.optional("middle_blocks", model.middle_blocks,
                                    "of the encoder, between entry and exit", base::within(0, 64));
  const base::ObjectReader widths = in.object("widths", "channels of each part");
  const auto read = [&](const char* key, std::int64_t& value) {
    value = widths.optional(key, value, "channels", base::within(1, 8192));
  };
  read("conv1", model.conv1);
  read("conv2", model.conv2);
  read("block1", model.block1);
  read("block2", model.block2);
  read("middle", model.middle);
  read("block20", model.block20);
  read("conv3", model.conv3);
  read("conv4", model.conv4);
  read("conv5", model.conv5);
  read("aspp", model.aspp);
  read("low_level", model.low_level);
  read("decoder", model.decoder);
  return model;
}

nn::Network build_network(const ModelConfig& config) { return Builder(config).build(); }

}  // namespace deepcam
