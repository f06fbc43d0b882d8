// Tests of the network: published sizes, and a small network with known answers.
#include "workloads/cosmoflow/model.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/layers/loss.h"

namespace cosmoflow {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

std::vector<nn::ParameterSpec> published_parameters() {
  return build_network(ModelConfig()).parameters();
}

TEST(CosmoFlow, HasThePublishedSizes) {
  const nn::Network network = build_network(ModelConfig());
  EXPECT_EQ(network.parameter_count(), 8'907'556);
  EXPECT_EQ(network.forward_macs(), 34'431'049'984);
  EXPECT_EQ(network.inputs(), 1);
  EXPECT_EQ(network.shape(0).channels, 4);
  EXPECT_EQ(network.shape(0).spatial, (Shape{128, 128, 128}));
}

/// A layer with parameters: the shape of its output, its parameters and its multiply-accumulates.
struct Published {
  std::int64_t channels;
  Shape spatial;
  std::int64_t parameters, macs;
};

TEST(CosmoFlow, HasLayersOfThePublishedShapes) {
  const Published published[] = {{32, {64, 64, 64}, 3'488, 7'247'757'312},
                                 {64, {32, 32, 32}, 55'360, 14'495'514'624},
                                 {128, {16, 16, 16}, 221'312, 7'247'757'312},
                                 {256, {8, 8, 8}, 884'992, 3'623'878'656},
                                 {512 * 4 * 4 * 4, {}, 3'539'456, 1'811'939'328},
                                 {128, {}, 4'194'432, 4'194'304},
                                 {64, {}, 8'256, 8'192},
                                 {4, {}, 260, 256}};
  const nn::Network network = build_network(ModelConfig());
  std::size_t layer = 0;
  for (const nn::Operation& operation : network.operations()) {
    if (operation.weights < 0) continue;
    ASSERT_LT(layer, std::size(published));
    const Published& expected = published[layer++];
    EXPECT_EQ(operation.dst.channels, expected.channels) << operation.name;
    EXPECT_EQ(operation.dst.spatial, expected.spatial) << operation.name;
    const auto count = [&](nn::ParameterId id) {
      return network.parameters()[static_cast<std::size_t>(id)].count();
    };
    EXPECT_EQ(count(operation.weights) + count(operation.bias), expected.parameters);
    EXPECT_EQ(network.forward_macs(operation), expected.macs) << operation.name;
  }
  EXPECT_EQ(layer, std::size(published));
}

TEST(CosmoFlow, HasTheReferencesSlopesAndDropout) {
  ModelConfig model;
  model.dropout = 0.4;
  const nn::Network network = build_network(model);
  std::vector<double> dropout;
  for (const nn::Operation& operation : network.operations()) {
    if (operation.kind == nn::OperationKind::kConvolutionPool) {
      EXPECT_EQ(operation.slope, 0.3);
    }
    if (operation.kind != nn::OperationKind::kActivation) continue;
    dropout.push_back(operation.dropout);
    if (operation.function == nn::ActivationFunction::kTanh) {
      EXPECT_EQ(operation.scale, 1.2);
    } else {
      EXPECT_EQ(operation.slope, 0.3);
    }
  }
  EXPECT_THAT(dropout, ElementsAre(0.4, 0.4, 0.0));
}

TEST(CosmoFlow, HasParametersUnderKerasNames) {
  std::vector<std::string> names;
  for (const nn::ParameterSpec& spec : published_parameters()) {
    names.push_back(spec.name);
  }
  EXPECT_THAT(
      names,
      ElementsAre("conv3d/kernel:0", "conv3d/bias:0", "conv3d_1/kernel:0", "conv3d_1/bias:0",
                  "conv3d_2/kernel:0", "conv3d_2/bias:0", "conv3d_3/kernel:0", "conv3d_3/bias:0",
                  "conv3d_4/kernel:0", "conv3d_4/bias:0", "dense/kernel:0", "dense/bias:0",
                  "dense_1/kernel:0", "dense_1/bias:0", "dense_2/kernel:0", "dense_2/bias:0"));
}

TEST(CosmoFlow, LetsTheFirstDenseLayersWeightsDecayAlone) {
  std::vector<std::string> decaying;
  for (const nn::ParameterSpec& spec : published_parameters()) {
    if (spec.decays) decaying.push_back(spec.name);
  }
  EXPECT_THAT(decaying, ElementsAre("dense/kernel:0", "dense_1/kernel:0"));
}

/// Weights are uniform within sqrt(6 / (fan_in + fan_out)), where fans count all 27 taps; biases
/// are 0.
TEST(CosmoFlow, DrawsGlorotsWeights) {
  const auto limit = [](std::int64_t fans) { return std::sqrt(6.0 / static_cast<double>(fans)); };
  const std::map<std::string, double> limits = {{"conv3d/kernel:0", limit(27 * (4 + 32))},
                                                {"conv3d_1/kernel:0", limit(27 * (32 + 64))},
                                                {"conv3d_2/kernel:0", limit(27 * (64 + 128))},
                                                {"conv3d_3/kernel:0", limit(27 * (128 + 256))},
                                                {"conv3d_4/kernel:0", limit(27 * (256 + 512))},
                                                {"dense/kernel:0", limit(32768 + 128)},
                                                {"dense_1/kernel:0", limit(128 + 64)},
                                                {"dense_2/kernel:0", limit(64 + 4)}};
  std::size_t kernels = 0;
  for (const nn::ParameterSpec& spec : published_parameters()) {
    if (spec.shape.size() == 1) {
      EXPECT_EQ(spec.initializer.distribution, nn::Distribution::kConstant) << spec.name;
      EXPECT_EQ(spec.initializer.constant, 0.0) << spec.name;
      continue;
    }
    ++kernels;
    EXPECT_EQ(spec.initializer.distribution, nn::Distribution::kUniform) << spec.name;
    EXPECT_DOUBLE_EQ(spec.initializer.spread, limits.at(spec.name)) << spec.name;
  }
  EXPECT_EQ(kernels, limits.size());
}

/// The network of one part has the whole network's parameters.
TEST(CosmoFlow, HasTheSameParametersInParts) {
  const auto parameters = published_parameters();
  for (const Split split : {Split{2, 1}, Split{1, 4}, Split{4, 4}, Split{64, 1}}) {
    const nn::Network part = build_network(ModelConfig(), split);
    ASSERT_EQ(part.parameters().size(), parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_EQ(part.parameters()[i].name, parameters[i].name);
      EXPECT_EQ(part.parameters()[i].shape, parameters[i].shape);
      EXPECT_EQ(part.parameters()[i].decays, parameters[i].decays);
      EXPECT_EQ(part.parameters()[i].initializer.spread, parameters[i].initializer.spread);
    }
  }
}

/// Depth and height of each operation's output, up to the gathering of the parts.
std::vector<std::pair<std::int64_t, std::int64_t>> parts_of(const ModelConfig& model,
                                                            const Split& split) {
  const nn::Network network = build_network(model, split);
  std::vector<std::pair<std::int64_t, std::int64_t>> extents;
  for (const nn::Operation& operation : network.operations()) {
    const nn::SampleShape& dst = operation.dst;
    if (operation.kind == nn::OperationKind::kGatherVolume) {
      EXPECT_EQ(operation.depth_parts, split.depth);
      EXPECT_EQ(operation.height_parts, split.height);
      return extents;
    }
    EXPECT_EQ(dst.spatial.at(2), model.size >> extents.size());
    extents.emplace_back(dst.spatial.at(0), dst.spatial.at(1));
  }
  ADD_FAILURE() << "parts are never put together";
  return extents;
}

TEST(CosmoFlow, StaysInPartsWhileTheirHalvesAreWholePairs) {
  using testing::Pair;
  EXPECT_THAT(parts_of({}, {4, 4}), ElementsAre(Pair(32, 32), Pair(16, 16), Pair(8, 8), Pair(4, 4),
                                                Pair(2, 2), Pair(1, 1)));
  EXPECT_THAT(parts_of({}, {8, 1}),
              ElementsAre(Pair(16, 128), Pair(8, 64), Pair(4, 32), Pair(2, 16), Pair(1, 8)));
  EXPECT_THAT(parts_of({}, {1, 64}), ElementsAre(Pair(128, 2), Pair(64, 1)));
  ModelConfig model;
  model.size = 32 * 3;
  EXPECT_THAT(parts_of(model, {2, 4}),
              ElementsAre(Pair(48, 24), Pair(24, 12), Pair(12, 6), Pair(6, 3)));
}

TEST(CosmoFlow, CanBeSplitIntoPairsOfVoxels) {
  ModelConfig model;
  model.size = 96;
  for (const Split split : {Split{1, 1}, Split{3, 1}, Split{16, 48}, Split{1, 48}}) {
    EXPECT_TRUE(can_split(model, split)) << split.depth << " x " << split.height;
  }
  for (const Split split : {Split{5, 1}, Split{1, 5}, Split{96, 1}, Split{1, 32}}) {
    EXPECT_FALSE(can_split(model, split)) << split.depth << " x " << split.height;
  }
}

ModelConfig parsed_model(const json& object) {
  return parse_model(base::ObjectReader(object, "small.json"));
}

TEST(CosmoFlow, IsTheBenchmarksWhereNothingIsSaid) {
  const ModelConfig model = parsed_model(json::object());
  EXPECT_EQ(model.size, 128);
  EXPECT_EQ(model.redshifts, 4);
  EXPECT_THAT(model.channels, ElementsAre(32, 64, 128, 256, 512));
  EXPECT_THAT(model.dense, ElementsAre(128, 64));
  EXPECT_EQ(model.dropout, 0.5);
}

TEST(CosmoFlow, RefusesModelsThatCannotBe) {
  const auto refusal = [](const char* key, const json& value) {
    return base::thrown_message<base::ConfigError>([&] { parsed_model({{key, value}}); });
  };
  EXPECT_THAT(refusal("channels", {32, 24}),
              HasSubstr("small.json: /channels: must be multiples of 16 up to 65536, got 24"));
  EXPECT_THAT(refusal("channels", {0}), HasSubstr("/channels: must be multiples of 16"));
  EXPECT_THAT(refusal("channels", {-16}), HasSubstr("/channels: must be multiples of 16"));
  EXPECT_THAT(refusal("channels", {131072}), HasSubstr("got 131072"));
  EXPECT_THAT(refusal("channels", json::array()),
              HasSubstr("/channels: expected 1 to 10 convolutions, got 0"));
  EXPECT_THAT(refusal("channels", std::vector<int>(11, 16)), HasSubstr("got 11"));
  EXPECT_THAT(refusal("dense", {0}), HasSubstr("/dense: must be 1 to 65536, got 0"));
  EXPECT_THAT(refusal("dense", {65537}), HasSubstr("got 65537"));
  EXPECT_THAT(refusal("size", 100),
              HasSubstr("/size: must divide by 32, as each of 5 convolutions halves it, got 100"));
  EXPECT_THAT(refusal("size", 1), HasSubstr("/size: "));
  EXPECT_THAT(refusal("size", 2048), HasSubstr("/size: "));
  for (const int redshifts : {0, 6}) {
    EXPECT_THAT(refusal("redshifts", redshifts), HasSubstr("/redshifts: "));
  }
  for (const double dropout : {-0.1, 1.0}) {
    EXPECT_THAT(refusal("dropout", dropout), HasSubstr("/dropout: must be at least 0 and below 1"));
  }
}

/// The known answer: two channels of 4 x 4 x 4 voxels and three output channels, padded to the 16
/// that the kernels need. Values are wave(a, b, c)[i] = a sin(b i + c), in the order [out, in,
/// taps] and [out, channels, voxels].
class KnownCosmoFlow : public testing::Test {
 protected:
  static constexpr std::size_t kIn = 2, kTaps = 27, kOut = 3, kStored = 16, kPoints = 8;

  static double wave(double a, double b, double c, std::size_t i) {
    return a * std::sin(b * static_cast<double>(i) + c);
  }
  static std::vector<float> convolution_weights() {
    std::vector<float> weights(kTaps * kIn * kStored);
    for (std::size_t out = 0; out < kOut; ++out) {
      for (std::size_t in = 0; in < kIn; ++in) {
        for (std::size_t tap = 0; tap < kTaps; ++tap) {
          weights[(tap * kIn + in) * kStored + out] =
              static_cast<float>(wave(0.3, 0.19, 0.1, (out * kIn + in) * kTaps + tap));
        }
      }
    }
    return weights;
  }
  static std::vector<float> convolution_biases() {
    std::vector<float> biases(kStored);
    for (std::size_t i = 0; i < kOut; ++i) biases[i] = static_cast<float>(wave(0.1, 0.5, 0.2, i));
    return biases;
  }
  /// The layer's input is [voxels, channels], whereas `wave` counts [channels, voxels].
  static std::vector<float> dense_weights() {
    std::vector<float> weights(kPoints * kStored * kTargets);
    for (std::size_t target = 0; target < kTargets; ++target) {
      for (std::size_t channel = 0; channel < kOut; ++channel) {
        for (std::size_t point = 0; point < kPoints; ++point) {
          weights[(point * kStored + channel) * kTargets + target] =
              static_cast<float>(wave(0.2, 0.23, 0.3, (target * kOut + channel) * kPoints + point));
        }
      }
    }
    return weights;
  }
  static void set_input(const nn::Executor& executor) {
    const std::span<float> input = executor.input<float>(0);
    std::fill(input.begin(), input.end(), 0.0F);
    for (std::size_t i = 0; i < kIn * 64; ++i) {
      const std::size_t channel = i / 64, z = i / 16 % 4 + 1, y = i / 4 % 4 + 1, x = i % 4 + 1;
      input[((z * 6 + y) * 6 + x) * kIn + channel] = std::log1p(static_cast<float>((7 * i) % 5));
    }
  }
  static nn::ExecutorOptions options(base::InstructionSet set) {
    nn::ExecutorOptions options;
    options.kernels = nn::kernels(set);
    return options;
  }
  /// Calls check(instruction set) for all instruction sets that this CPU supports.
  template <class Check>
  static void on_each_set(const Check& check) {
    for (const auto set : {base::InstructionSet::kBaseline, base::InstructionSet::kAvx2,
                           base::InstructionSet::kAvx512}) {
      if (set > base::usable_instruction_set()) continue;
      SCOPED_TRACE(base::to_string(set));
      check(set);
    }
  }
  nn::Device device_;
};

/// For values around 1 that are sums of some dozen products in single precision.
constexpr double kTolerance = 3e-6;

TEST_F(KnownCosmoFlow, HasTheKnownMaximaBehindItsConvolution) {
  nn::Network network;
  network.convolution_pool(
      network.input({kIn, {4, 4, 4}, 1}),
      {"conv3d", kStored, {}, {}, 0.3, nn::ConvolutionPoolSpec::Gives::kVector});
  on_each_set([&](base::InstructionSet set) {
    nn::Executor executor(network, options(set), device_, nullptr);
    executor.parameters().write_weights(0, convolution_weights());
    executor.parameters().write_weights(1, convolution_biases());
    set_input(executor);
    executor.forward(nn::Mode::kInference);
    const double first[] = {2.120184601, 2.589831513, 2.536985233, 2.120184601,
                            4.842985547, 4.634824211, 4.73038319,  4.842985547};
    double sum = 0.0;
    for (const float value : executor.outputs()) sum += static_cast<double>(value);
    EXPECT_NEAR(sum, 47.07042613, 24 * kTolerance);
    for (std::size_t point = 0; point < kPoints; ++point) {
      EXPECT_NEAR(executor.outputs()[point * kStored], first[point], 5 * kTolerance) << point;
    }
  });
}

TEST_F(KnownCosmoFlow, HasTheKnownOutputsErrorsAndGradients) {
  ModelConfig model;
  model.size = 4;
  model.redshifts = kIn;
  model.channels = {kStored};
  model.dense = {};
  const nn::Network network = build_network(model);
  on_each_set([&](base::InstructionSet set) {
    nn::Executor executor(network, options(set), device_, nullptr);
    executor.parameters().write_weights(0, convolution_weights());
    executor.parameters().write_weights(1, convolution_biases());
    executor.parameters().write_weights(2, dense_weights());
    executor.parameters().write_weights(3, std::vector<float>(kTargets));
    set_input(executor);
    executor.name_samples({0, 0, {0}});
    executor.forward(nn::Mode::kTraining);
    const double expected[] = {1.199879497, 1.196631391, -0.2412698, -1.198130017};
    for (std::size_t i = 0; i < kTargets; ++i) {
      EXPECT_NEAR(executor.outputs()[i], expected[i], kTolerance) << i;
    }
    const std::vector<float> targets = {0.5F, -0.5F, 0.0F, 1.0F};
    const nn::ErrorSums sums = nn::squared_error(executor.outputs(), targets, kTargets,
                                                 1.0 / kTargets, executor.output_gradient());
    EXPECT_NEAR(sums.squared / kTargets, 2.0645940199, kTolerance);
    EXPECT_NEAR(sums.absolute / kTargets, 1.2089776767, kTolerance);
    executor.backward(false, nullptr);
    double squares = 0.0;
    for (const float value : executor.parameters().read_gradient(0)) squares += value * value;
    EXPECT_NEAR(std::sqrt(squares), 0.8962457411, 10 * kTolerance);
    const std::vector<float> biases = executor.parameters().read_gradient(1);
    EXPECT_NEAR(biases[0], 0.08682033, kTolerance);
    EXPECT_NEAR(biases[1], -0.134371873, kTolerance);
    EXPECT_NEAR(biases[2], 0.036145302, kTolerance);
    for (std::size_t i = kOut; i < kStored; ++i) EXPECT_EQ(biases[i], 0.0F) << i;
  });
}

}  // namespace
}  // namespace cosmoflow
