// Biases and ReLUs by themselves, and products without a bias, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "runner/base/error.h"
#include "workloads/kernels/plain_bf16.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/residual_network.h"

namespace {

using nn::Network;
using nn::Precision;
using nn::ValueId;
using plain::Array;
using plain::to_bf16;
using residual::kSmall;
using residual::noise;

constexpr std::int64_t kBiasedBatch = 5;

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

template <class T>
std::vector<float> input_gradient(const nn::Executor& executor) {
  std::vector<float> values;
  for (const T value : executor.input_gradient<T>(0)) {
    if constexpr (std::is_same_v<T, float>) {
      values.push_back(value);
    } else {
      values.push_back(as_float(value));
    }
  }
  return values;
}

/// Expects outputs and all gradients within `tolerance` of the twin's.
void expect_twin(const Network& net, Precision precision, std::int64_t slice_samples,
                 double tolerance) {
  const auto last = static_cast<ValueId>(net.operations().size()) - 1;
  const auto rounded = [](Array values) {
    for (double& value : values) value = to_bf16(value);
    return values;
  };
  std::vector<Array> parameters = residual::test_parameters(net);
  for (Array& values : parameters) values = rounded(values);
  const Array input = rounded(noise(kBiasedBatch * net.shape(0).size(), 1.0, 3));
  const Array upstream = rounded(noise(kBiasedBatch * net.shape(last).size(), 1.0, 5));
  plain::Options twin;
  twin.batch = twin.group_size = kBiasedBatch;
  if (precision == Precision::kBf16) twin.rounded = to_bf16;
  plain::Pass expected = plain::forward(net, parameters, input, twin);
  plain::backward(net, parameters, twin, upstream, expected);

  nn::ExecutorOptions options = residual::options_for(kBiasedBatch, kBiasedBatch);
  options.arithmetic.precision = precision;
  options.slice_samples = slice_samples;
  options.accumulates = true;
  nn::Device device;
  nn::Executor executor(net, options, device, nullptr);
  residual::load(executor, net, parameters);
  const std::vector<float> gradient(upstream.begin(), upstream.end());
  for (const bool accumulate : {false, true}) {
    std::ranges::copy(input, executor.input().begin());
    executor.forward(nn::Mode::kTraining);
    EXPECT_LT(plain::relative_l2(executor.read_outputs(), expected.values.back()), tolerance);
    executor.write_output_gradient(gradient);
    executor.backward(accumulate, nullptr);
    const double passes = accumulate ? 2.0 : 1.0;
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      Array sum = expected.parameter_gradients[i];
      for (double& value : sum) value *= passes;
      EXPECT_LT(residual::error_of(executor.parameters().read_gradient(static_cast<int>(i)), sum),
                tolerance)
          << net.parameters()[i].name << " after " << passes << " passes";
    }
    const std::vector<float> found = precision == Precision::kBf16
                                         ? input_gradient<nn::Bf16>(executor)
                                         : input_gradient<float>(executor);
    EXPECT_LT(plain::relative_l2(found, expected.value_gradients.front()), tolerance);
  }
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
