// The blocks of ResNet.
#include "workloads/resnet50/model.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>

#include "runner/base/error.h"

namespace resnet50 {
namespace {

using nn::Distribution;
using nn::Initializer;
using nn::ValueId;

constexpr std::int64_t kExpansion = 4;
/// Standard deviation of a unit normal truncated at two.
constexpr double kTruncatedDeviation = 0.87962566103423978;

const std::map<std::int64_t, std::vector<int>>& blocks_by_depth() {
  static const std::map<std::int64_t, std::vector<int>> blocks = {
      {26, {2, 2, 2, 2}}, {50, {3, 4, 6, 3}}, {101, {3, 4, 23, 3}}, {152, {3, 8, 36, 3}}};
  return blocks;
}

const std::vector<std::pair<std::string, Reference>>& reference_choices() {
  static const std::vector<std::pair<std::string, Reference>> choices = {
      {"mlperf", Reference::kMlperf}, {"torchvision", Reference::kTorchvision}};
  return choices;
}

class Builder {
 public:
  explicit Builder(const ModelConfig& config) : config_(config) {}

  nn::Network build() {
    ValueId x = net_.input({3, {config_.image_size, config_.image_size}});
    x = convolution(x, "conv1", config_.width, 7, 2);
    if (!is_v2()) x = net_.batch_norm(x, {"bn1"});
    x = net_.max_pool(x, {3, 2, same_padding(x, 3, 2)});
    std::int64_t width = config_.width;
    const std::vector<int>& stages = blocks_by_depth().at(config_.depth);
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      for (int block = 0; block < stages[stage]; ++block) {
        const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        const std::string name = fmt::format("layer{}.{}.", stage + 1, block);
        x = is_v2() ? preactivated(x, name, width, stride, block == 0)
                    : bottleneck(x, name, width, stride, block == 0);
      }
      width *= 2;
    }
    if (is_v2()) x = net_.batch_norm(x, {"bn_last"});
    x = net_.global_average_pool(x);
    net_.fully_connected(x, {"fc", config_.classes, fc_weights(x), fc_bias(x)});
    return std::move(net_);
  }

 private:
  bool is_v2() const { return config_.version == Version::kV2; }

  nn::Padding same_padding(ValueId src, std::int64_t kernel, std::int64_t stride) const {
    const bool same = config_.padding == Reference::kMlperf && stride > 1 && kernel == 3;
    if (same) return nn::same_padding(net_.shape(src).spatial, kernel, stride);
    return nn::uniform_padding(2, kernel / 2, kernel / 2);
  }
  /// TensorFlow's v2 pads convolutions by its own operation, alike on both sides.
  nn::Padding padding(ValueId src, std::int64_t kernel, std::int64_t stride) const {
    if (is_v2()) return nn::uniform_padding(2, kernel / 2, kernel / 2);
    return same_padding(src, kernel, stride);
  }

  Initializer conv_weights(ValueId src, std::int64_t channels, std::int64_t kernel) const {
    if (config_.initialization == Reference::kTorchvision) {
      const double fan_out = static_cast<double>(channels * kernel * kernel);
      return {Distribution::kNormal, std::sqrt(2.0 / fan_out), 0.0};
    }
    const double fan_in = static_cast<double>(net_.shape(src).channels * kernel * kernel);
    return {Distribution::kTruncatedNormal, std::sqrt(2.0 / fan_in) / kTruncatedDeviation, 0.0};
  }

  Initializer fc_weights(ValueId src) const {
    if (config_.initialization == Reference::kTorchvision) return fc_bias(src);
    return {Distribution::kNormal, 0.01, 0.0};
  }

  Initializer fc_bias(ValueId src) const {
    if (config_.initialization == Reference::kMlperf) return {};
    return {Distribution::kUniform, 1.0 / std::sqrt(static_cast<double>(net_.shape(src).channels)),
            0.0};
  }

  ValueId convolution(ValueId src, const std::string& name, std::int64_t channels,
                      std::int64_t kernel, std::int64_t stride) {
    return net_.convolution(src, {name, channels, kernel, stride, padding(src, kernel, stride),
                                  conv_weights(src, channels, kernel)});
  }

  ValueId bottleneck(ValueId src, const std::string& name, std::int64_t width, std::int64_t stride,
                     bool project) {
    const bool is_v1 = config_.version == Version::kV1;
    ValueId x = convolution(src, name + "conv1", width, 1, is_v1 ? stride : 1);
    x = net_.batch_norm(x, {name + "bn1"});
    x = convolution(x, name + "conv2", width, 3, is_v1 ? 1 : stride);
    x = net_.batch_norm(x, {name + "bn2"});
    x = convolution(x, name + "conv3", width * kExpansion, 1, 1);
    ValueId shortcut = src;
    if (project) {
      shortcut = convolution(src, name + "downsample.0", width * kExpansion, 1, stride);
      shortcut = net_.batch_norm(shortcut, {name + "downsample.1", false});
    }
    nn::BatchNormSpec last{name + "bn3"};
    if (config_.zero_init_last_gamma) last.gamma = 0.0;
    return net_.batch_norm(x, last, shortcut);
  }

  ValueId preactivated(ValueId src, const std::string& name, std::int64_t width,
                       std::int64_t stride, bool project) {
    const ValueId activated = net_.batch_norm(src, {name + "bn1"});
    ValueId x = convolution(activated, name + "conv1", width, 1, 1);
    x = net_.batch_norm(x, {name + "bn2"});
    x = convolution(x, name + "conv2", width, 3, stride);
    nn::BatchNormSpec last{name + "bn3"};
    if (config_.zero_init_last_gamma) last.gamma = 0.0;
    x = net_.batch_norm(x, last);
    x = convolution(x, name + "conv3", width * kExpansion, 1, 1);
    const ValueId shortcut =
        project ? convolution(activated, name + "downsample.0", width * kExpansion, 1, stride)
                : src;
    return net_.sum(name + "sum", x, shortcut);
  }

  const ModelConfig config_;
  nn::Network net_;
};

}  // namespace

const char* to_string(Version version) {
  switch (version) {
    case Version::kV1:
      return "v1";
    case Version::kV2:
      return "v2";
    default:
      return "v1.5";
  }
}

ModelConfig parse_model(const base::ObjectReader& in) {
  ModelConfig model;
  std::vector<std::pair<std::string, Version>> versions;
  for (const Version version : {Version::kV1, Version::kV15, Version::kV2}) {
    versions.emplace_back(to_string(version), version);
  }
  model.version = in.choice("version", model.version, versions,
                            "v1: the stride of a down-sampling block is in its first 1x1 "
                            "convolution; v1.5: in its 3x3 one; v2: likewise, with norm and ReLU "
                            "before each convolution");
  model.depth = in.optional<std::int64_t>("depth", model.depth, "layers: 26, 50, 101 or 152",
                                          {"must be 26, 50, 101 or 152", [](const std::int64_t& d) {
                                             return blocks_by_depth().count(d) == 1;
                                           }});
  model.width =
      in.optional("width", model.width, "channels of the first convolution", base::within(1, 4096));
  model.image_size = in.optional("image_size", model.image_size, "side of the square input",
                                 base::within(8, 4096));
  model.classes = in.optional("classes", model.classes, "outputs", base::within(2, 1'000'000));
  model.padding =
      in.choice("padding", model.padding, reference_choices(), "padding of stride-2 windows");
  model.initialization = in.choice("initialization", model.initialization, reference_choices(),
                                   "how weights are drawn");
  model.zero_init_last_gamma = in.optional("zero_init_last_gamma", model.zero_init_last_gamma,
                                           "start each block's last batch-norm gamma at 0");
  return model;
}

nn::Network build_network(const ModelConfig& config) {
  if (blocks_by_depth().count(config.depth) == 0) {
    throw base::ConfigError(
        fmt::format("model: depth: expected 26, 50, 101 or 152, got {}", config.depth));
  }
  return Builder(config).build();
}

std::vector<std::string> mlperf_tensor_names(const ModelConfig& config) {
  std::vector<std::string> names = {"conv0_weight", "bn0_gamma", "bn0_beta"};
  const std::vector<int>& stages = blocks_by_depth().at(config.depth);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (int block = 0; block < stages[stage]; ++block) {
      const std::string unit = fmt::format("stage{}_unit{}_", stage + 1, block + 1);
      for (int i = 1; i <= 3; ++i) {
        names.push_back(fmt::format("{}conv{}_weight", unit, i));
        names.push_back(fmt::format("{}bn{}_gamma", unit, i));
        names.push_back(fmt::format("{}bn{}_beta", unit, i));
      }
      if (block > 0) continue;
      for (const char* name : {"conv1sc_weight", "bnsc_gamma", "bnsc_beta"})
        names.push_back(unit + name);
    }
  }
  names.emplace_back("fc1_weight");
  names.emplace_back("fc1_bias");
  return names;
}

}  // namespace resnet50
