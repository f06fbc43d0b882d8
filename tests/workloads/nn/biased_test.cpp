// Biases and ReLUs by themselves, and products without a bias, against plain loops.
#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>

#include "runner/base/error.h"
#include "workloads/nn/residual_network.h"
#include "workloads/nn/twin_expectations.h"

namespace {

using nn::Network;
using nn::Precision;
using nn::ValueId;
using plain::expect_twin;
using residual::kSmall;

/// An image, whose gradient is wanted, through biases before and after convolutions.
Network image_network(std::int64_t channels) {
  Network net;
  ValueId x = net.input({channels, {6, 5}}, nn::InputGradient::kWanted);
  x = net.biased(x, {"first", kSmall, true});
  x = net.convolution(x, {"conv", channels, 3, 1, nn::uniform_padding(2, 1, 1), kSmall});
  x = net.biased(x, {"second", kSmall});
  x = net.max_pool(x, {2, 2, {{0, 0}, {0, 0}}});
  x = net.convolution(x, {"last", channels + 3, 1, 1, {{0, 0}, {0, 0}}, kSmall});
  net.biased(x, {"end", kSmall, true});
  return net;
}

/// A batch norm reads an input that biased() only takes to another layout.
Network converted_network() {
  Network net;
  ValueId x = net.biased(net.input({16, {4, 4}}, nn::InputGradient::kWanted), {"taken"});
  x = net.batch_norm(x, {"bn"});
  net.convolution(x, {"conv", 8, 1, 1, {}, kSmall});
  return net;
}

Network vector_network() {
  Network net;
  ValueId x = net.biased(net.input({20, {}}, nn::InputGradient::kWanted), {"first", kSmall, true});
  x = net.fully_connected(x, {"hidden", 33, kSmall, kSmall, true});
  net.fully_connected(
      x, {"sums", 1, kSmall, {}, false, nn::ParameterStyle::kTorch, true, /*has_bias=*/false});
  return net;
}

class Biased : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t>> {};

TEST_P(Biased, ImagesAreAsPlainLoopsHaveThem) {
  const auto [channels, slice] = GetParam();
  expect_twin(image_network(channels), Precision::kF32, slice, 1e-5);
}

TEST_P(Biased, ImagesAreAsPlainLoopsHaveThemInBf16) {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512Bf16) {
    GTEST_SKIP() << "needs avx512_bf16";
  }
  const auto [channels, slice] = GetParam();
  expect_twin(image_network(channels), Precision::kBf16, slice, 5e-2);
}

// Whole blocks of channels and others; all samples at once, and slices of 2.
INSTANTIATE_TEST_SUITE_P(Shapes, Biased,
                         testing::Combine(testing::Values(16, 32, 7), testing::Values(0, 2)));

TEST(Biased, TakesAnInputToTheLayoutOfImages) {
  expect_twin(converted_network(), Precision::kF32, 0, 1e-4);
}

TEST(Biased, VectorsAreAsPlainLoopsHaveThem) {
  expect_twin(vector_network(), Precision::kF32, 0, 1e-5);
}

TEST(Biased, VectorsAreAsPlainLoopsHaveThemInBf16) {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512Bf16) {
    GTEST_SKIP() << "needs avx512_bf16";
  }
  expect_twin(vector_network(), Precision::kBf16, 0, 5e-2);
}

TEST(Biased, RefusesAReluOfAProductWithoutBias) {
  Network net;
  const ValueId x = net.input({4, {}});
  EXPECT_THROW(net.fully_connected(x, {"fc",
                                       2,
                                       kSmall,
                                       {},
                                       true,
                                       nn::ParameterStyle::kTorch,
                                       true,
                                       /*has_bias=*/false}),
               base::ShapeError);
  EXPECT_THROW(net.biased(net.input({4, {2, 2, 2}}), {"volume"}), base::ShapeError);
}

}  // namespace
