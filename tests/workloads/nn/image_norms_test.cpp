// Groups of channels, response norms, sums, norms without parameters and flattened images, against
// plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "runner/base/error.h"
#include "workloads/nn/residual_network.h"
#include "workloads/nn/twin_expectations.h"

namespace {

using nn::Network;
using nn::Precision;
using nn::ValueId;
using plain::expect_twin;
using residual::kSmall;

const nn::Padding kOne = nn::uniform_padding(2, 1, 1);

/// Convolutions with biases and ReLUs, in two groups; response norms, a batch norm of a ReLU's
/// output, and fully connected layers behind a flattened image.
Network grouped_network(std::int64_t channels) {
  Network net;
  const nn::ResponseNorm strong = {5, 1.0, 0.75, 1.0};
  ValueId x = net.input({3, {9, 8}}, nn::InputGradient::kNone);
  x = net.convolution(x, {"conv1", channels, 3, 1, kOne, kSmall});
  x = net.biased(x, {"conv1", kSmall, true});
  x = net.response_norm(x, "norm1", strong);
  x = net.max_pool(x, {3, 2, {{0, 0}, {0, 1}}});
  nn::ConvolutionSpec second = {"conv2", 2 * channels, 3, 1, kOne, kSmall};
  second.groups = 2;
  x = net.convolution(x, second);
  x = net.biased(x, {"conv2", kSmall, true});
  nn::BatchNormSpec plain_norm = {"bn2", false};
  plain_norm.affine = false;
  x = net.batch_norm(x, plain_norm);
  nn::ConvolutionSpec third = {"conv3", channels, 3, 2, kOne, kSmall};
  third.groups = 2;
  x = net.convolution(x, third);
  x = net.biased(x, {"conv3", kSmall, true});
  x = net.flatten(x);
  x = net.fully_connected(x, {"fc6", 20, kSmall, kSmall, true});
  x = net.activation(x, {"drop6", nn::ActivationFunction::kIdentity});
  x = net.fully_connected(x, {"fc7", 12, kSmall, kSmall, true});
  net.fully_connected(x, {"fc8", 5, kSmall, kSmall});
  return net;
}

/// A pool, and blocks whose skip path no norm or ReLU touches.
Network preactivation_network(std::int64_t channels) {
  Network net;
  ValueId x = net.input({3, {9, 8}}, nn::InputGradient::kNone);
  x = net.convolution(x, {"conv1", channels, 3, 1, kOne, kSmall});
  x = net.max_pool(x, {3, 2, kOne});
  for (int block = 0; block < 3; ++block) {
    const std::string name = "block" + std::to_string(block);
    const std::int64_t stride = block == 1 ? 2 : 1;
    const ValueId a = net.batch_norm(x, {name + ".bn1"});
    ValueId y = net.convolution(a, {name + ".conv1", channels, 3, stride, kOne, kSmall});
    y = net.batch_norm(y, {name + ".bn2"});
    y = net.convolution(y, {name + ".conv2", 2 * channels, 1, 1, {}, kSmall});
    const bool projects = block < 2;
    const ValueId skip =
        projects ? net.convolution(a, {name + ".down", 2 * channels, 1, stride, {}, kSmall}) : x;
    x = net.sum(name + ".sum", y, skip);
  }
  x = net.batch_norm(x, {"bn_last"});
  x = net.global_average_pool(x);
  net.fully_connected(x, {"fc", 5, kSmall, kSmall});
  return net;
}

/// Sums whose addends other operations read, or whose makers write to their gradients.
Network summed_network(std::int64_t channels) {
  Network net;
  const auto conv = [&](ValueId src, const char* name) {
    return net.convolution(src, {name, channels, 3, 1, kOne, kSmall});
  };
  const ValueId x =
      net.biased(net.input({channels, {5, 4}}, nn::InputGradient::kWanted), {"taken"});
  const ValueId a = conv(x, "conv1"), b = conv(x, "conv2"), c = conv(a, "conv3");
  const ValueId early = net.sum("sum1", net.sum("sum2", a, b), c);
  const ValueId norm = net.batch_norm(conv(early, "conv4"), {"bn1", false});
  const ValueId other = net.batch_norm(conv(early, "conv5"), {"bn2"}, early);
  const ValueId twice = net.sum("sum3", net.sum("sum4", norm, other), other);
  const ValueId masked = net.biased(conv(twice, "conv6"), {"relu", kSmall, true});
  const ValueId last = net.sum("sum5", net.sum("sum6", conv(twice, "conv7"), norm), masked);
  net.fully_connected(net.global_average_pool(last), {"fc", 5, kSmall, kSmall});
  return net;
}

using Shape = std::tuple<std::int64_t, std::int64_t>;
class ImageNorms : public testing::TestWithParam<Shape> {};

TEST_P(ImageNorms, AreAsPlainLoopsHaveThem) {
  const auto [channels, slice] = GetParam();
  for (const nn::Recompute recompute :
       {nn::Recompute::kNone, nn::Recompute::kNormalizations, nn::Recompute::kBlocks}) {
    SCOPED_TRACE(static_cast<int>(recompute));
    expect_twin(grouped_network(channels), Precision::kF32, slice, 1e-4, recompute);
    expect_twin(preactivation_network(channels), Precision::kF32, slice, 1e-4, recompute);
    expect_twin(summed_network(channels), Precision::kF32, slice, 1e-4, recompute);
  }
}

TEST_P(ImageNorms, AreAsPlainLoopsHaveThemInBf16) {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512Bf16) {
    GTEST_SKIP() << "needs avx512_bf16";
  }
  const auto [channels, slice] = GetParam();
  expect_twin(grouped_network(channels), Precision::kBf16, slice, 8e-2);
  expect_twin(preactivation_network(channels), Precision::kBf16, slice, 8e-2);
  expect_twin(summed_network(channels), Precision::kBf16, slice, 8e-2);
}

// Groups of whole blocks of channels and others; all samples at once, and slices of 2.
INSTANTIATE_TEST_SUITE_P(Shapes, ImageNorms,
                         testing::Combine(testing::Values(32, 24, 6), testing::Values(0, 2)));

/// Where the other branches are zero, a skip path changes no bit.
TEST(ImageNorms, SkipPathKeepsBits) {
  Network net;
  ValueId x = net.biased(net.input({16, {4, 4}}), {"taken"});
  for (int block = 0; block < 3; ++block) {
    const std::string name = "block" + std::to_string(block);
    const ValueId a = net.batch_norm(x, {name + ".bn"});
    const ValueId y = net.convolution(a, {name + ".conv", 16, 3, 1, kOne, kSmall});
    x = net.sum(name + ".sum", y, x);
  }
  net.flatten(x);
  nn::Device device;
  nn::Executor executor(net, residual::options_for(4, 4), device, nullptr);
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const auto count = static_cast<std::size_t>(net.parameters()[i].count());
    executor.parameters().write_weights(static_cast<int>(i), std::vector<float>(count, 0.0F));
  }
  const plain::Array input = residual::noise(4 * net.shape(0).size(), 1.0, 3);
  std::ranges::copy(input, executor.input().begin());
  executor.forward(nn::Mode::kTraining);
  const std::vector<float> given(input.begin(), input.end());
  EXPECT_EQ(executor.read_outputs(), given);
}

/// The values and gradients of channels 10, 20 .. 60, computed in float64 by PyTorch.
TEST(ResponseNorm, GivesTheKnownAnswer) {
  Network net;
  const ValueId x = net.biased(net.input({6, {1, 1}}, nn::InputGradient::kWanted), {"taken"});
  net.response_norm(x, "norm", {});
  nn::Device device;
  nn::Executor executor(net, residual::options_for(1, 1), device, nullptr);
  const std::vector<float> input = {10, 20, 30, 40, 50, 60};
  std::ranges::copy(input, executor.input().begin());
  executor.forward(nn::Mode::kTraining);
  executor.write_output_gradient(std::vector<float>{1, -1, 2, -2, 3, -3});
  executor.backward(false, nullptr);
  const std::vector<double> known = {.9670661274,   -.9461812724, 1.7637556289,
                                     -1.7012075548, 2.7178819889, -2.5389994838};
  const auto gradient = executor.input_gradient<float>(0);
  for (std::size_t c = 0; c < known.size(); ++c) EXPECT_NEAR(gradient[c], known[c], 1e-6) << c;
}

TEST(ImageNorms, RefusesWhatDoesNotFit) {
  Network net;
  const ValueId x = net.input({6, {4, 4}}), y = net.input({6, {4, 2}});
  nn::ConvolutionSpec thirds = {"conv", 8, 1, 1, {}, kSmall};
  thirds.groups = 3;
  EXPECT_THROW(net.convolution(x, thirds), base::ShapeError);
  EXPECT_THROW(net.sum("sum", x, y), base::ShapeError);
  EXPECT_THROW(net.sum("sum", x, x), base::ShapeError);
  EXPECT_THROW(net.response_norm(x, "norm", {4}), base::ShapeError);
  EXPECT_THROW(net.flatten(net.input({4, {}})), base::ShapeError);
}

/// Training drops half of the values and doubles the others; their gradients likewise.
TEST(Dropout, OfAValueAlone) {
  constexpr std::int64_t kWidth = 4000;
  Network net;
  ValueId x = net.biased(net.input({kWidth, {}}, nn::InputGradient::kWanted), {"taken"});
  net.activation(x, {"drop", nn::ActivationFunction::kIdentity, 0.0, 1.0, 0.5});
  nn::Device device;
  nn::Executor executor(net, residual::options_for(1, 1), device, nullptr);
  std::ranges::fill(executor.input(), 3.0F);
  executor.name_samples({7, 0, {0}});
  executor.forward(nn::Mode::kTraining);
  const std::vector<float> outputs = executor.read_outputs();
  executor.write_output_gradient(std::vector<float>(kWidth, 1.0F));
  executor.backward(false, nullptr);
  const auto gradient = executor.input_gradient<float>(0);
  std::int64_t dropped = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(gradient[i] * 3.0F, outputs[i]) << i;
    EXPECT_TRUE(outputs[i] == 0.0F || outputs[i] == 6.0F) << outputs[i];
    dropped += outputs[i] == 0.0F ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(dropped), kWidth / 2.0, 150.0);
  std::ranges::fill(executor.input(), 3.0F);
  executor.forward(nn::Mode::kInference);
  for (const float value : executor.outputs()) EXPECT_EQ(value, 3.0F);
}

}  // namespace
