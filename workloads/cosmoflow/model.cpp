// The CosmoFlow network.
#include "workloads/cosmoflow/model.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "runner/base/error.h"

namespace cosmoflow {
namespace {

constexpr double kSlope = 0.3;  ///< Keras's default for LeakyReLU, not the more usual 0.01
constexpr double kScale = 1.2;  ///< factor of the final tanh
constexpr std::int64_t kTaps = 27;
constexpr std::int64_t kBlock = 16;  ///< channel block size of the kernels

/// Source: Glorot & Bengio, AISTATS 2010, equation 16.
nn::Initializer glorot(std::int64_t fan_in, std::int64_t fan_out) {
  return {nn::Distribution::kUniform, std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)), 0.0};
}

/// Keras's layer names: the first layer of a kind has no number.
std::string numbered(const std::string& kind, std::size_t index) {
  return index == 0 ? kind : fmt::format("{}_{}", kind, index);
}

void check(const base::ObjectReader& in, const ModelConfig& model) {
  for (const std::int64_t channels : model.channels) {
    if (channels > 0 && channels <= 65536 && channels % kBlock == 0) continue;
    throw base::ConfigError(fmt::format("{}: must be multiples of {} up to 65536, got {}",
                                        in.where("channels"), kBlock, channels));
  }
  for (const std::int64_t outputs : model.dense) {
    if (outputs > 0 && outputs <= 65536) continue;
    throw base::ConfigError(
        fmt::format("{}: must be 1 to 65536, got {}", in.where("dense"), outputs));
  }
  if (model.channels.empty() || model.channels.size() > 10) {
    throw base::ConfigError(fmt::format("{}: expected 1 to 10 convolutions, got {}",
                                        in.where("channels"), model.channels.size()));
  }
  const std::int64_t divisor = std::int64_t{1} << model.channels.size();
  if (model.size % divisor != 0) {
    throw base::ConfigError(
        fmt::format("{}: must divide by {}, as each of {} convolutions halves it, got {}",
                    in.where("size"), divisor, model.channels.size(), model.size));
  }
}

}  // namespace

ModelConfig parse_model(const base::ObjectReader& in) {
  ModelConfig model;
  model.size =
      in.optional("size", model.size, "voxels along each axis of a sample", base::within(2, 1024));
  model.redshifts =
      in.optional("redshifts", model.redshifts, "channels of a sample", base::within(1, 5));
  model.channels = in.optional("channels", model.channels, "of each convolution");
  model.dense = in.optional("dense", model.dense, "outputs of each fully connected layer");
  model.dropout = in.optional("dropout", model.dropout,
                              "share of the fully connected layers' values that training drops",
                              base::Check<double>{"must be at least 0 and below 1",
                                                  [](const double& p) { return p >= 0 && p < 1; }});
  check(in, model);
  return model;
}

bool can_split(const ModelConfig& model, const Split& split) {
  return model.size % (2 * split.depth) == 0 && model.size % (2 * split.height) == 0;
}

nn::Network build_network(const ModelConfig& model, const Split& split) {
  using Gives = nn::ConvolutionPoolSpec::Gives;
  nn::Network net;
  nn::ValueId value = net.input(
      {model.redshifts, {model.size / split.depth, model.size / split.height, model.size}, 1});
  std::int64_t in = model.redshifts;
  bool is_part = split.parts() > 1;
  for (std::size_t i = 0; i < model.channels.size(); ++i) {
    const bool is_last = i + 1 == model.channels.size();
    const std::vector<std::int64_t> extents = net.shape(value).spatial;
    // The pooled part must have even extents again.
    const bool goes_on = is_part && !is_last && extents[0] % 4 == 0 && extents[1] % 4 == 0;
    Gives gives = is_last ? Gives::kVector : Gives::kVolume;
    if (is_part && !goes_on) gives = is_last ? Gives::kPartOfVector : Gives::kPart;
    const std::int64_t out = model.channels[i];
    value = net.convolution_pool(
        value,
        {numbered("conv3d", i), out, glorot(in * kTaps, out * kTaps), {}, kSlope, gives, is_part});
    if (is_part && !goes_on) {
      value = net.gather_volume(value, split.depth, split.height, is_last);
    }
    is_part = goes_on;
    in = out;
  }
  const auto dense = [&](std::size_t index, std::int64_t outputs, bool decays) {
    const std::int64_t inputs = net.shape(value).channels;
    value = net.fully_connected(value, {numbered("dense", index),
                                        outputs,
                                        glorot(inputs, outputs),
                                        {},
                                        false,
                                        nn::ParameterStyle::kKeras,
                                        decays});
  };
  for (std::size_t i = 0; i < model.dense.size(); ++i) {
    dense(i, model.dense[i], true);
    value = net.activation(value, {numbered("leaky_re_lu", i), nn::ActivationFunction::kLeakyRelu,
                                   kSlope, 1.0, model.dropout});
  }
  dense(model.dense.size(), kTargets, false);
  net.activation(value, {"tanh", nn::ActivationFunction::kTanh, 0.0, kScale, 0.0});
  return net;
}

}  // namespace cosmoflow
