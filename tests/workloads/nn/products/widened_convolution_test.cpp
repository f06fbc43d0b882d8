// Compares widened convolutions, cut into several pieces, with those of floats.
#include "workloads/nn/products/widened_convolution.h"

#include <gtest/gtest.h>

#include "workloads/kernels/plain_bf16.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/residual_network.h"

namespace {

using nn::Network;
using nn::ValueId;
using plain::Array;
using plain::to_bf16;
using residual::kSmall;

/// 1x1, cut between pixels; strided; atrous with uneven phases; transposed: each in several pieces.
Network large_network() {
  Network net;
  const nn::Padding one = nn::uniform_padding(2, 1, 1), twice = {{1, 1}, {0, 0}};
  ValueId x = net.input({16, {64, 160}});
  x = net.convolution(x, {"first", 64, 3, 1, one, kSmall});
  x = net.convolution(x, {"pointwise", 80, 1, 1, {}, kSmall});
  x = net.convolution(x, {"strided", 64, 3, 2, one, kSmall});
  x = net.convolution(x, {"atrous", 48, 3, 1, nn::uniform_padding(2, 6, 6), kSmall, 6});
  x = net.convolution(x, {"tiles", 64, 3, 1, one, kSmall});
  x = net.deconvolution(x, {"up", 64, 3, 2, twice, kSmall});
  net.deconvolution(x, {"last", 3, 3, 2, twice, kSmall});
  return net;
}

/// Images cut into strips of rows: by Winograd, strided, transposed, 1x1 with a stride, and of too
/// few channels for Winograd. Neither rows nor strips are a multiple of the other.
Network tall_network() {
  Network net;
  const nn::Padding one = nn::uniform_padding(2, 1, 1), twice = {{1, 1}, {0, 0}};
  ValueId x = net.input({16, {302, 176}});
  x = net.convolution(x, {"first", 80, 3, 1, one, kSmall});
  x = net.convolution(x, {"tiles", 64, 3, 1, one, kSmall});
  x = net.convolution(x, {"strided", 80, 3, 2, one, kSmall});
  x = net.deconvolution(x, {"up", 64, 3, 2, twice, kSmall});
  x = net.convolution(x, {"skip", 96, 1, 2, {}, kSmall});
  x = net.deconvolution(x, {"up_again", 64, 3, 2, twice, kSmall});
  net.convolution(x, {"few", 24, 3, 1, one, kSmall});
  return net;
}

/// Strided 1x1 convolutions, cut within rows and between samples; no image ends with a strided
/// pixel.
Network skipping_network() {
  Network net;
  const nn::Padding one = nn::uniform_padding(2, 1, 1);
  ValueId x = net.input({16, {202, 154}});
  x = net.convolution(x, {"first", 80, 3, 1, one, kSmall});
  x = net.convolution(x, {"skip", 96, 1, 2, {}, kSmall});
  x = net.convolution(x, {"between", 64, 3, 1, one, kSmall});
  x = net.convolution(x, {"skip_more", 48, 1, 3, {}, kSmall});
  net.convolution(x, {"last", 24, 3, 1, one, kSmall});
  return net;
}

/// Allows for up to seven layers whose values are rounded to bfloat16, 2^-9 each.
void expect_results_of_floats(const Network& net, std::int64_t batch,
                              const std::vector<std::int64_t>& slices) {
  std::vector<Array> parameters = residual::test_parameters(net);
  for (Array& values : parameters) {
    for (double& value : values) value = to_bf16(value);
  }
  Array input = residual::noise(batch * net.shape(0).size(), 1.0, 3);
  for (double& value : input) value = to_bf16(value);
  const auto last = static_cast<ValueId>(net.operations().size()) - 1;
  const Array upstream = residual::noise(batch * net.shape(last).size(), 1.0, 5);
  /// Outputs, then the gradient of each parameter.
  const auto results = [&](nn::Precision precision, std::int64_t slice) {
    nn::ExecutorOptions options = residual::options_for(batch, batch);
    options.arithmetic.precision = precision;
    options.arithmetic.products = nn::Products::kFloats;
    options.slice_samples = slice;
    nn::Device device;
    nn::Executor executor(net, options, device, nullptr);
    residual::load(executor, net, parameters);
    std::copy(input.begin(), input.end(), executor.input().begin());
    executor.forward(nn::Mode::kTraining);
    std::vector<std::vector<float>> all;
    all.push_back(executor.read_outputs());
    executor.write_output_gradient(std::vector<float>(upstream.begin(), upstream.end()));
    executor.backward(false, nullptr);
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      all.push_back(executor.parameters().read_gradient(static_cast<int>(i)));
    }
    return all;
  };
  const auto expected = results(nn::Precision::kF32, 0);
  for (const std::int64_t slice : slices) {
    SCOPED_TRACE(slice);
    const auto found = results(nn::Precision::kBf16, slice);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LT(plain::relative_l2(found[i], Array(expected[i].begin(), expected[i].end())), 1e-2)
          << i;
    }
  }
}

class WidenedConvolutions : public testing::Test {
 protected:
  void SetUp() override {
    if (base::usable_instruction_set() < base::InstructionSet::kAvx512Bf16) {
      GTEST_SKIP() << "needs avx512_bf16";
    }
  }
};

TEST_F(WidenedConvolutions, AreThoseOfFloatsInSeveralPieces) {
  expect_results_of_floats(large_network(), 3, {0, 1, 2});
}

TEST_F(WidenedConvolutions, AreThoseOfFloatsWhereTheySkipPoints) {
  expect_results_of_floats(skipping_network(), 3, {0, 1, 2});
}

TEST_F(WidenedConvolutions, AreThoseOfFloatsInStripsOfRows) {
  expect_results_of_floats(tall_network(), 2, {0, 1});
}

}  // namespace
