// Tests of ResNet-50 v1.5, v1 and v2: published counts and shapes, and known answers.
#include "workloads/resnet50/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runner/base/error.h"
#include "workloads/images/known_answers.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/layers/loss.h"

namespace {

using resnet50::ModelConfig;
using resnet50::Reference;
using resnet50::Version;

TEST(ResNet50, HasThePublishedParametersAndMultiplications) {
  for (const Reference padding : {Reference::kMlperf, Reference::kTorchvision}) {
    ModelConfig config;
    config.padding = padding;
    const nn::Network net = resnet50::build_network(config);
    EXPECT_EQ(net.parameter_count(), 25'557'032);
    EXPECT_EQ(net.parameters().size(), 161U);
    EXPECT_EQ(net.forward_macs(), 4'089'184'256);
    EXPECT_EQ(net.statistics().size(), 53U);
  }
}

TEST(ResNet50, CountsItsClasses) {
  ModelConfig config;
  config.classes = 1001;
  EXPECT_EQ(resnet50::build_network(config).parameter_count(), 25'559'081);
}

TEST(ResNet50, PutsTheStrideIntoTheThreeByThreeConvolution) {
  const nn::Network net = resnet50::build_network({});
  for (const nn::Operation& operation : net.operations()) {
    if (operation.name == "layer2.0.conv1") {
      EXPECT_EQ(operation.stride[0], 1);
    }
    if (operation.name == "layer2.0.conv2") {
      EXPECT_EQ(operation.stride[0], 2);
      EXPECT_EQ(operation.padding.begin[0], 0);  // SAME pads only the end
      EXPECT_EQ(operation.padding.end[0], 1);
    }
  }
}

TEST(ResNet50, PutsTheStrideOfV1IntoTheFirstConvolution) {
  const nn::Network net = resnet50::build_network({.version = Version::kV1});
  EXPECT_EQ(net.parameter_count(), 25'557'032);
  EXPECT_EQ(net.parameters().size(), 161U);
  EXPECT_EQ(net.forward_macs(), 3'857'973'248);
  for (const nn::Operation& operation : net.operations()) {
    if (operation.name == "layer2.0.conv1") {
      EXPECT_EQ(operation.stride[0], 2);
    }
    if (operation.name == "layer2.0.conv2") {
      EXPECT_EQ(operation.stride[0], 1);
      EXPECT_EQ(operation.padding.begin[0], 1);
    }
  }
}

TEST(ResNet50, HasTheParametersOfV2) {
  const nn::Network net = resnet50::build_network({.version = Version::kV2});
  EXPECT_EQ(net.parameter_count(), 25'549'352);
  EXPECT_EQ(net.parameters().size(), 153U);
  EXPECT_EQ(net.statistics().size(), 49U);
  EXPECT_EQ(net.forward_macs(), 4'089'184'256);
  for (const std::int64_t depth : {26, 101, 152}) {
    EXPECT_GT(resnet50::build_network({.version = Version::kV2, .depth = depth}).parameter_count(),
              10'000'000)
        << depth;
  }
}

/// What a network gives for procedural weights and images, computed in float64 by PyTorch's layers.
struct Known {
  ModelConfig config;
  std::vector<double> logits;  ///< the first of the first sample
  double loss = 0.0;
  /// Norms of gradients: conv1, layer1.0.conv1, layer1.0.downsample.0, fc.weight, fc.bias.
  std::vector<double> norms;
};

void expect_known(Known known) {
  ModelConfig& config = known.config;
  config.image_size = 64;
  const nn::Network net = resnet50::build_network(config);
  nn::Device device;
  nn::ExecutorOptions options;
  options.batch = 4;
  options.groups = nn::plan_batch_groups({{4, 0, 4}}, 0, 4);
  options.kernels = nn::kernels(base::usable_instruction_set());
  nn::Executor executor(net, options, device, nullptr);
  nn::Parameters& parameters = executor.parameters();
  parameters.initialize(1);
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const nn::ParameterSpec& spec = net.parameters()[i];
    const bool is_bias = spec.name == "fc.bias";
    if (spec.shape.size() == 1 && !is_bias) continue;  // gamma 1, beta 0
    parameters.write_weights(static_cast<int>(i), images::procedural_parameter(++key, spec));
  }
  EXPECT_EQ(key, 55U);
  const std::vector<float> pixels = images::procedural(100, 4 * net.shape(0).size(), 1.0);
  std::copy(pixels.begin(), pixels.end(), executor.input().begin());
  executor.forward(nn::Mode::kTraining);
  const std::vector<float> outputs = executor.read_outputs();
  for (std::size_t c = 0; c < known.logits.size(); ++c) {
    EXPECT_NEAR(static_cast<double>(outputs[c]), known.logits[c], 2e-4) << c;
  }
  const std::vector<std::int32_t> labels = {0, 1, 2, 3};
  std::vector<float> gradient(outputs.size());
  const nn::LossSums loss = nn::softmax_cross_entropy(outputs, labels, 0.0, 0.25, gradient);
  EXPECT_NEAR(loss.loss / 4.0, known.loss, 1e-3);
  executor.write_output_gradient(gradient);
  executor.backward(false, nullptr);
  const auto norm = [&](const char* name) { return images::gradient_norm(executor, net, name); };
  // A ReLU whose input rounds to the other side of zero moves gradients before it by 1e-3 to 1e-2.
  EXPECT_NEAR(norm("conv1.weight") / known.norms[0], 1.0, 1e-2);
  EXPECT_NEAR(norm("layer1.0.conv1.weight") / known.norms[1], 1.0, 1e-2);
  EXPECT_NEAR(norm("layer1.0.downsample.0.weight") / known.norms[2], 1.0, 1e-2);
  EXPECT_NEAR(norm("fc.weight") / known.norms[3], 1.0, 1e-4);
  EXPECT_NEAR(norm("fc.bias") / known.norms[4], 1.0, 1e-4);
}

TEST(ResNet50, GivesTheKnownAnswersOfV1) {
  expect_known({{.version = Version::kV1, .padding = Reference::kTorchvision},
                {-1.950152694, .3326403563, 2.040656784, .00703928362},
                8.73740295325,
                {817.69334, 266.12981, 185.14198, 26.582195, .50459768}});
}

TEST(ResNet50, GivesTheKnownAnswersOfV2) {
  expect_known({{.version = Version::kV2, .padding = Reference::kMlperf},
                {-.3024362314, .5251880518, 1.355731327, -.289563721},
                7.04609331243,
                {214.9768, 63.261293, 46.646737, 10.75082, .49933045}});
  expect_known({{.version = Version::kV2, .padding = Reference::kTorchvision},
                {-.3328367993, .09828526707, .9252928891, -.4364537509},
                6.97334062557,
                {218.52808, 64.644507, 47.499513, 10.74038, .49927439}});
}

TEST(ResNet50, NamesParametersAsTorchvisionDoes) {
  const nn::Network net = resnet50::build_network({});
  std::set<std::string> names;
  for (const auto& parameter : net.parameters()) names.insert(parameter.name);
  for (const char* name : {"conv1.weight", "bn1.weight", "bn1.bias", "layer1.0.conv1.weight",
                           "layer1.0.downsample.0.weight", "layer1.0.downsample.1.bias",
                           "layer4.2.bn3.weight", "fc.weight", "fc.bias"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

TEST(ResNet50, NamesTensorsAsMlperfDoes) {
  const std::vector<std::string> names = resnet50::mlperf_tensor_names({});
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 161U);
  EXPECT_EQ(names.front(), "conv0_weight");
  EXPECT_EQ(names.back(), "fc1_bias");
}

TEST(ResNet50, ExemptsBatchNormAndBiasesFromDecay) {
  const nn::Network net = resnet50::build_network({});
  for (const auto& parameter : net.parameters()) {
    const bool is_matrix = parameter.shape.size() > 1;
    EXPECT_EQ(parameter.decays, is_matrix) << parameter.name;
  }
}

TEST(ResNet50, DrawsWeightsWithTheReferencesSpread) {
  ModelConfig config;
  config.image_size = 32;
  config.classes = 10;
  const nn::Network net = resnet50::build_network(config);
  nn::Device device;
  nn::ExecutorOptions options;
  options.training = false;
  options.kernels = nn::kernels(base::usable_instruction_set());
  nn::Executor executor(net, options, device, nullptr);
  executor.parameters().initialize(3);
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const nn::ParameterSpec& spec = net.parameters()[i];
    if (spec.name != "layer3.0.conv2.weight") continue;
    const std::vector<float> weights = executor.parameters().read_weights(static_cast<int>(i));
    double squares = 0.0, largest = 0.0;
    for (const float w : weights) {
      squares += static_cast<double>(w) * static_cast<double>(w);
      largest = std::max(largest, std::abs(static_cast<double>(w)));
    }
    const double he = std::sqrt(2.0 / (256.0 * 9.0));
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(weights.size())) / he, 1.0, 0.01);
    EXPECT_LE(largest, 2.0 * he / 0.87962566 * 1.0001);
  }
}

/// The plan of a training step with a batch of 64 images of 224 x 224.
nn::Executor training_plan(nn::Device& device, nn::Precision precision, nn::Recompute recompute) {
  nn::ExecutorOptions options;
  options.batch = 64;
  options.groups = nn::plan_batch_groups({{64, 0, 64}}, 0, 32);
  options.kernels = nn::kernels(base::usable_instruction_set());
  options.arithmetic.precision = precision;
  options.recompute = recompute;
  options.plan_only = true;
  return {resnet50::build_network({}), options, device, nullptr};
}

std::int64_t training_bytes(nn::Precision precision, nn::Recompute recompute) {
  nn::Device device;
  return training_plan(device, precision, recompute).memory_bytes().at("activations and scratch");
}

std::vector<nn::Precision> usable_precisions() {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512Bf16) {
    return {nn::Precision::kF32};
  }
  return {nn::Precision::kF32, nn::Precision::kBf16};
}

/// All layers use the blocked layouts of AVX-512; oneDNN's other layouts would need conversions.
TEST(ResNet50, ConvertsNoLayoutsInAStep) {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512) {
    GTEST_SKIP() << "needs avx512";
  }
  nn::Device device;
  for (const nn::Precision precision : usable_precisions()) {
    for (const auto recompute : {nn::Recompute::kNormalizations, nn::Recompute::kBlocks}) {
      EXPECT_EQ(training_plan(device, precision, recompute).reorders_per_step(), 0)
          << nn::to_string(precision) << ", " << nn::to_string(recompute);
    }
  }
}

TEST(ResNet50, TakesLessMemoryTheMoreItMakesAgain) {
  for (const nn::Precision precision : usable_precisions()) {
    const std::int64_t kept = training_bytes(precision, nn::Recompute::kNone);
    const std::int64_t normalized = training_bytes(precision, nn::Recompute::kNormalizations);
    const std::int64_t least = training_bytes(precision, nn::Recompute::kBlocks);
    EXPECT_LT(100 * normalized, 70 * kept) << nn::to_string(precision);
    EXPECT_LT(100 * least, 45 * kept) << nn::to_string(precision);
  }
}

TEST(ResNet50, RefusesADepthThatIsNone) {
  ModelConfig config;
  config.depth = 51;
  EXPECT_THROW(resnet50::build_network(config), base::ConfigError);
}

// A v1.5 block with known answers: sines as weights and input, stride 2, torchvision's padding.
std::vector<float> sines(std::int64_t count, double a, double b, double c) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(a * std::sin(b * static_cast<double>(i) + c));
  return values;
}

TEST(Block, GivesTheKnownAnswers) {
  nn::Network net;
  const nn::Padding one = nn::uniform_padding(2, 1, 1);
  // An identity convolution in front gives the block's input a gradient.
  const auto input = net.input({4, {4, 4}});
  const auto x = net.convolution(input, {"identity", 4, 1, 1, {}, {}});
  auto y = net.batch_norm(net.convolution(x, {"w1", 2, 1, 1, {}, {}}), {"b1"});
  y = net.batch_norm(net.convolution(y, {"w2", 2, 3, 2, one, {}}), {"b2"});
  const auto shortcut = net.batch_norm(net.convolution(x, {"wp", 8, 1, 2, {}, {}}), {"bp", false});
  net.batch_norm(net.convolution(y, {"w3", 8, 1, 1, {}, {}}), {"b3"}, shortcut);

  nn::Device device;
  nn::ExecutorOptions options;
  options.batch = 2;
  options.groups = nn::plan_batch_groups({{2, 0, 2}}, 0, 2);
  options.kernels = nn::kernels(base::InstructionSet::kBaseline);
  nn::Executor executor(net, options, device, nullptr);
  executor.parameters().initialize(1);
  const auto parameter = [&](const std::string& name) {
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      if (net.parameters()[i].name == name + ".weight") return static_cast<int>(i);
    }
    throw base::DataError(name);
  };
  std::vector<float> identity(16, 0.0F);
  for (std::size_t i = 0; i < 4; ++i) identity[5 * i] = 1.0F;
  executor.parameters().write_weights(parameter("identity"), identity);
  executor.parameters().write_weights(parameter("w1"), sines(8, .6, .53, .1));
  executor.parameters().write_weights(parameter("w2"), sines(36, .5, .29, .4));
  executor.parameters().write_weights(parameter("w3"), sines(16, .7, .71, .6));
  executor.parameters().write_weights(parameter("wp"), sines(32, .5, .43, .8));
  const std::vector<float> src = sines(2 * 4 * 16, 1.0, .37, .2);
  std::copy(src.begin(), src.end(), executor.input().begin());
  executor.forward(nn::Mode::kTraining);

  const std::vector<float> outputs = executor.read_outputs();
  const std::vector<float> upstream = sines(2 * 8 * 4, 1.0, .61, .05);
  executor.write_output_gradient(upstream);
  double sum = 0.0, loss = 0.0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    sum += static_cast<double>(outputs[i]);
    loss += static_cast<double>(outputs[i]) * static_cast<double>(upstream[i]);
  }
  const std::vector<double> known = {0, .316891253, 1.412460097, 0, 0, 0, .43453704, .273101239};
  for (std::size_t c = 0; c < known.size(); ++c) {
    EXPECT_NEAR(static_cast<double>(outputs[4 * c]), known[c], 1e-5) << c;
  }
  EXPECT_NEAR(sum, 34.72650257716661, 1e-4);
  EXPECT_NEAR(loss, -3.255433894108781, 1e-4);
  executor.backward(false, nullptr);
  const auto norm = [&](const std::string& name) {
    double squares = 0.0;
    for (const float g : executor.parameters().read_gradient(parameter(name)))
      squares += static_cast<double>(g) * static_cast<double>(g);
    return std::sqrt(squares);
  };
  EXPECT_NEAR(norm("w1"), 3.2887998, 1e-4);
  EXPECT_NEAR(norm("w2"), 2.8695794, 1e-4);
  EXPECT_NEAR(norm("w3"), 6.6487899, 1e-4);
  EXPECT_NEAR(norm("wp"), 13.5493023, 1e-4);
}

}  // namespace
