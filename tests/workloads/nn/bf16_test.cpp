// The engine in bfloat16 against its plain twin in double precision.
// Hides nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/nn/onednn.h"
#include "workloads/nn/plain_bf16.h"
#include "workloads/nn/product_rates.h"
#include "workloads/nn/residual_expectations.h"

namespace {

using nn::Network;
using plain::Array;
using plain::to_bf16;
using residual::error_of;
using residual::load;
using residual::noise;

/// The twin rounds what the engine rounds, so that ReLUs decide alike. What is left are sums that
/// round to the other neighbour, 2^-8 of a value, here and there.
constexpr double kForwardTolerance = 5e-3;
constexpr double kGradientTolerance = 5e-2;
constexpr double kFrozenTolerance = 2e-2;
/// Against a twin that does not round.
constexpr double kRoundingTolerance = 2e-2;

nn::ExecutorOptions options_for(std::int64_t batch, std::int64_t group) {
  nn::ExecutorOptions options = residual::options_for(batch, group);
  options.arithmetic.precision = nn::Precision::kBf16;
  return options;
}

/// Of either products.
std::vector<nn::Arithmetic> arithmetics() {
  std::vector<nn::Arithmetic> all;
  for (const nn::Products products : {nn::Products::kPairs, nn::Products::kFloats}) {
    nn::Arithmetic arithmetic;
    arithmetic.precision = nn::Precision::kBf16;
    arithmetic.products = products;
    all.push_back(arithmetic);
  }
  return all;
}

bool has_bf16() { return base::usable_instruction_set() == base::InstructionSet::kAvx512Bf16; }

struct Case {
  const char* name;
  std::vector<std::int64_t> spatial;
  std::int64_t width, stride, batch, group;
  friend void PrintTo(const Case& shape, std::ostream* out) { *out << shape.name; }
};

/// One network in one mode, on the engine and on its twin.
class Comparison {
 public:
  Comparison(const Case& c, nn::Mode mode)
      : Comparison(residual::test_network(c.spatial, c.width, c.stride), c.batch, c.group, mode) {}
  Comparison(Network net, std::int64_t batch, std::int64_t group, nn::Mode mode)
      : net_(std::move(net)),
        parameters_(residual::test_parameters(net_)),
        input_(noise(batch * net_.shape(0).size(), 1.0, 3)),
        upstream_(noise(batch * 5, 1.0, 5)),
        mode_(mode),
        plain_options_{batch, group, mode == nn::Mode::kTraining, {}, {}, to_bf16} {
    // Weights that are bfloat16 from the start: both sides use the same.
    for (Array& values : parameters_)
      std::transform(values.begin(), values.end(), values.begin(), to_bf16<double>);
    if (mode != nn::Mode::kTraining) residual::draw_statistics(net_, plain_options_);
    pass_ = plain::forward(net_, parameters_, input_, plain_options_);
    plain::backward(net_, parameters_, plain_options_, upstream_, pass_);
    plain::Options exact = plain_options_;
    exact.rounded = nullptr;
    exact_outputs_ = plain::forward(net_, parameters_, input_, exact).values.back();
  }

  /// Runs `executor` over the same, and keeps its errors.
  void run(nn::Executor& executor) {
    load(executor, net_, parameters_);
    residual::set_statistics(executor, plain_options_);
    std::copy(input_.begin(), input_.end(), executor.input().begin());
    executor.forward(mode_);
    const std::vector<float> outputs(executor.outputs().begin(), executor.outputs().end());
    forward_error = plain::relative_l2(outputs, pass_.values.back());
    rounding_error = plain::relative_l2(outputs, exact_outputs_);
    std::copy(upstream_.begin(), upstream_.end(), executor.output_gradient().begin());
    executor.backward(false, nullptr);
    gradient_error = 0.0;
    for (std::size_t i = 0; i < pass_.parameter_gradients.size(); ++i) {
      gradient_error = std::max(gradient_error,
                                error_of(executor.parameters().read_gradient(static_cast<int>(i)),
                                         pass_.parameter_gradients[i]));
    }
  }
  const Network& net() const { return net_; }

  double forward_error = 0.0;
  double rounding_error = 0.0;  ///< against the twin that does not round
  double gradient_error = 0.0;  ///< of the worst parameter

 private:
  Network net_;
  std::vector<Array> parameters_;
  Array input_, upstream_;
  nn::Mode mode_;
  plain::Options plain_options_;
  plain::Pass pass_;
  Array exact_outputs_;
};

class Bf16Engine : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  }
  static Comparison compared(nn::Mode mode, nn::Products products) {
    Comparison comparison(GetParam(), mode);
    nn::Device device;
    nn::ExecutorOptions options = options_for(GetParam().batch, GetParam().group);
    options.arithmetic.products = products;
    nn::Executor executor(comparison.net(), options, device, nullptr);
    comparison.run(executor);
    return comparison;
  }
};

TEST_P(Bf16Engine, AgreesWithItsPlainTwinForwardAndBackward) {
  for (const nn::Products products : {nn::Products::kPairs, nn::Products::kFloats}) {
    SCOPED_TRACE(nn::to_string(products));
    const Comparison comparison = compared(nn::Mode::kTraining, products);
    EXPECT_LT(comparison.forward_error, kForwardTolerance);
    EXPECT_LT(comparison.rounding_error, kRoundingTolerance);
    EXPECT_GT(comparison.rounding_error, 1e-4) << "is it bfloat16 at all?";
    EXPECT_LT(comparison.gradient_error, kGradientTolerance);
  }
}

TEST_P(Bf16Engine, AgreesWithItsPlainTwinWhereStatisticsAreFrozen) {
  for (const nn::Products products : {nn::Products::kPairs, nn::Products::kFloats}) {
    SCOPED_TRACE(nn::to_string(products));
    const Comparison comparison = compared(nn::Mode::kFrozenStatistics, products);
    EXPECT_LT(comparison.forward_error, kForwardTolerance);
    EXPECT_LT(comparison.gradient_error, kFrozenTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Bf16Engine,
                         testing::Values(Case{"square", {12, 12}, 16, 2, 4, 4},
                                         Case{"two_groups", {12, 12}, 32, 1, 8, 4},
                                         Case{"odd_channels", {9, 13}, 10, 2, 6, 6},
                                         Case{"few_points", {8, 8}, 32, 2, 20, 10},
                                         // Own gradients of windows' weights.
                                         Case{"windows", {14, 12}, 64, 2, 4, 4}),
                         [](const auto& named) { return named.param.name; });

TEST(Bf16, AgreesWithItsPlainTwinOnVolumes) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  // Statistics are frozen: the library's pooling rounds each addition of overlapping windows in a
  // volume, which the batch's statistics would magnify.
  Comparison comparison({"volume", {6, 6, 8}, 16, 2, 4, 4}, nn::Mode::kFrozenStatistics);
  nn::Device device;
  nn::Executor executor(comparison.net(), options_for(4, 4), device, nullptr);
  comparison.run(executor);
  EXPECT_LT(comparison.forward_error, kForwardTolerance);
  EXPECT_LT(comparison.gradient_error, kFrozenTolerance);
}

/// A first convolution of `channels` channels, and what makes its gradients matter.
Network stem_network(std::int64_t channels, const std::vector<std::int64_t>& spatial,
                     std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  Network net;
  auto x = net.input({channels, spatial});
  x = net.convolution(
      x, {"conv1", 64, kernel, stride, nn::uniform_padding(2, padding, padding), residual::kSmall});
  x = net.batch_norm(x, {"bn1"});
  x = net.global_average_pool(x);
  net.fully_connected(x, {"fc", 5, residual::kSmall, residual::kSmall});
  return net;
}

TEST(Bf16, AgreesWithItsPlainTwinOnFirstConvolutions) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  const Network networks[] = {
      stem_network(3, {75, 90}, 7, 2, 3),  // several strips of rows, of tiles that are not full
      stem_network(3, {32, 32}, 3, 1, 1), stem_network(1, {9, 21}, 5, 3, 0),
      stem_network(8, {6, 5}, 4, 1, 2)};
  nn::Device device;
  for (const Network& net : networks) {
    SCOPED_TRACE(net.shape(0).channels);
    Comparison comparison(net, 3, 3, nn::Mode::kTraining);
    nn::ExecutorOptions options = options_for(3, 3);
    options.arithmetic.products = nn::Products::kPairs;
    nn::Executor executor(net, options, device, nullptr);
    comparison.run(executor);
    EXPECT_LT(comparison.forward_error, kForwardTolerance);
    EXPECT_LT(comparison.gradient_error, kGradientTolerance);
    for (const nn::LayerFacts& layer : executor.layers()) {
      if (layer.name != "conv1") continue;
      EXPECT_EQ(layer.implementation == "own", nn::multiplies_in_tiles()) << layer.implementation;
    }
  }
}

TEST(Bf16, AgreesWithItsPlainTwinOnLongLines) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  // Of such images the library's gradients of weights in matrix tiles are wrong: they are own
  // products, or the library's without tiles.
  nn::Device device;
  for (const std::int64_t width : {48, 64}) {
    SCOPED_TRACE(width);
    Network net;
    const nn::Padding one = nn::uniform_padding(2, 1, 1);
    auto x = net.input({3, {5, 600}});
    x = net.convolution(x, {"conv1", 32, 3, 1, one, residual::kSmall});
    x = net.batch_norm(x, {"bn1"});
    x = net.convolution(x, {"conv2", width, 3, 1, one, residual::kSmall});
    x = net.batch_norm(x, {"bn2"});
    x = net.global_average_pool(x);
    net.fully_connected(x, {"fc", 5, residual::kSmall, residual::kSmall});
    Comparison comparison(net, 2, 2, nn::Mode::kTraining);
    nn::ExecutorOptions options = options_for(2, 2);
    options.arithmetic.products = nn::Products::kPairs;
    nn::Executor executor(net, options, device, nullptr);
    comparison.run(executor);
    EXPECT_LT(comparison.forward_error, kForwardTolerance);
    EXPECT_LT(comparison.gradient_error, kGradientTolerance);
  }
}

TEST(Bf16, AgreesWithItsPlainTwinOnRowsOfManyChannels) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  // Several pieces of rows, and more channels than are gone over together.
  nn::Device device;
  for (const std::int64_t stride : {1, 2}) {
    SCOPED_TRACE(stride);
    Network net;
    auto x = net.input({3, {40, 7}});
    x = net.convolution(x, {"conv1", 32, 3, 1, nn::uniform_padding(2, 1, 1), residual::kSmall});
    x = net.batch_norm(x, {"bn1"});
    x = net.convolution(x, {"conv2", 136, 1, 1, {}, residual::kSmall});
    x = net.batch_norm(x, {"bn2"});
    x = net.depthwise_convolution(x, {"depthwise", stride, 1, residual::kSmall});
    x = net.batch_norm(x, {"bn3"});
    x = net.global_average_pool(x);
    net.fully_connected(x, {"fc", 5, residual::kSmall, residual::kSmall});
    Comparison comparison(net, 3, 3, nn::Mode::kTraining);
    for (const nn::Products products : {nn::Products::kPairs, nn::Products::kFloats}) {
      nn::ExecutorOptions options = options_for(3, 3);
      options.arithmetic.products = products;
      nn::Executor executor(net, options, device, nullptr);
      comparison.run(executor);
      EXPECT_LT(comparison.forward_error, kForwardTolerance);
      EXPECT_LT(comparison.gradient_error, kGradientTolerance);
    }
  }
}

/// Atrous windows of channels that are no whole tiles, of which the library's gradients of weights
/// in matrix tiles are wrong, too.
TEST(Bf16, AgreesWithItsPlainTwinOnAtrousWindowsOfOddChannels) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  nn::Device device;
  Network net;
  auto x = net.input({3, {20, 9}});
  x = net.convolution(x, {"conv1", 40, 3, 1, nn::uniform_padding(2, 1, 1), residual::kSmall});
  x = net.batch_norm(x, {"bn1"});
  x = net.convolution(x, {"conv2", 16, 3, 1, nn::uniform_padding(2, 2, 2), residual::kSmall, 2});
  x = net.batch_norm(x, {"bn2"});
  x = net.global_average_pool(x);
  net.fully_connected(x, {"fc", 5, residual::kSmall, residual::kSmall});
  Comparison comparison(net, 3, 3, nn::Mode::kTraining);
  nn::ExecutorOptions options = options_for(3, 3);
  options.arithmetic.products = nn::Products::kPairs;
  nn::Executor executor(net, options, device, nullptr);
  comparison.run(executor);
  EXPECT_LT(comparison.forward_error, kForwardTolerance);
  EXPECT_LT(comparison.gradient_error, kGradientTolerance);
}

TEST(Bf16, MakesGradientsOfWindowsWithAStrideOrFewPointsByOwnProducts) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  const Network net = residual::test_network({40, 40}, 64, 2);  // then 20 x 20 and 10 x 10
  nn::ExecutorOptions options = options_for(4, 4);
  options.plan_only = true;
  for (const nn::Products products : {nn::Products::kPairs, nn::Products::kFloats}) {
    options.arithmetic.products = products;
    nn::Device device;
    const nn::Executor executor(net, options, device, nullptr);
    for (const nn::LayerFacts& layer : executor.layers()) {
      if (layer.name != "block0.conv2" && layer.name != "block1.conv2" &&
          layer.name != "block0.down") {
        continue;
      }
      EXPECT_EQ(layer.implementation.find("own") != std::string::npos,
                products == nn::Products::kPairs)
          << layer.name << ": " << layer.implementation;
    }
  }
}

const Case kSquare = {"square", {12, 12}, 16, 2, 4, 4};

TEST(Bf16, LeavesNamedLayersInSinglePrecision) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  Comparison comparison(kSquare, nn::Mode::kFrozenStatistics);
  nn::ExecutorOptions options = options_for(4, 4);
  options.arithmetic.f32_layers = {"conv1", "block0.conv2", "block1.conv3"};
  nn::Device device;
  nn::Executor executor(comparison.net(), options, device, nullptr);
  comparison.run(executor);
  EXPECT_LT(comparison.forward_error, kForwardTolerance);
  EXPECT_LT(comparison.gradient_error, kFrozenTolerance);
  for (const nn::LayerFacts& layer : executor.layers()) {
    if (layer.name.find("conv") == std::string::npos) continue;
    const bool is_named = options.arithmetic.f32_layers.contains(layer.name);
    EXPECT_EQ(layer.implementation.find("bf16") == std::string::npos, is_named)
        << layer.name << ": " << layer.implementation;
  }
}

TEST(Bf16, MultipliesFloatsWhereAskedTo) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  const Network net = residual::test_network({12, 12}, 16, 2);
  nn::Device device;
  for (const nn::Arithmetic& arithmetic : arithmetics()) {
    nn::ExecutorOptions options = options_for(4, 4);
    options.arithmetic = arithmetic;
    const nn::Executor executor(net, options, device, nullptr);
    EXPECT_EQ(executor.products(), arithmetic.products);
    for (const nn::LayerFacts& layer : executor.layers()) {
      if (layer.name.find("conv") == std::string::npos) continue;
      EXPECT_EQ(layer.implementation.find("bf16") == std::string::npos,
                arithmetic.products == nn::Products::kFloats)
          << layer.name << ": " << layer.implementation;
    }
  }
}

TEST(Bf16, MultipliesWhatTheCpuIsFasterAt) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  nn::Device device;
  const nn::Kernels& kernels = nn::kernels(base::InstructionSet::kAvx512Bf16);
  const nn::ProductRates rates = nn::measure_product_rates(kernels);
  // Of any CPU from 1 to 6 GHz: one or two instructions a clock, or one in two.
  for (const double rate : {rates.floats, rates.pairs}) {
    EXPECT_GT(rate, 16e9 / 2);
    EXPECT_LT(rate, 32e9 * 2 * 6);
  }
  for (const nn::Arithmetic& arithmetic : arithmetics()) {
    EXPECT_EQ(nn::own_products(arithmetic, kernels), arithmetic.products);
    EXPECT_EQ(nn::library_products(arithmetic, kernels), arithmetic.products);
  }
  const nn::Products faster = nn::faster_products(kernels);
  ASSERT_NE(faster, nn::Products::kFaster);
  const bool has_tiles = nn::multiplies_in_tiles();
  nn::Arithmetic arithmetic = arithmetics().front();
  arithmetic.products = nn::Products::kFaster;
  EXPECT_EQ(nn::own_products(arithmetic, kernels), faster);
  EXPECT_EQ(nn::library_products(arithmetic, kernels), has_tiles ? nn::Products::kPairs : faster);
  for (const nn::Products agreed : {nn::Products::kPairs, nn::Products::kFloats}) {
    arithmetic.faster = agreed;
    EXPECT_EQ(nn::own_products(arithmetic, kernels), agreed);
  }
}

TEST(Bf16, AddsGradientsOfSeveralPasses) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  for (const nn::Arithmetic& arithmetic : arithmetics()) {
    SCOPED_TRACE(nn::to_string(arithmetic.products));
    residual::expect_sum_of_passes({8, 8}, 4, arithmetic);
  }
}

TEST(Bf16, GivesTheSameBitsInSlices) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  for (const nn::Arithmetic& arithmetic : arithmetics()) {
    SCOPED_TRACE(nn::to_string(arithmetic.products));
    residual::expect_same_bits_in_slices(arithmetic);
  }
}

TEST(Bf16, BringsUpdatesToAllCopiesOfWeights) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  for (const nn::Arithmetic& arithmetic : arithmetics()) {
    SCOPED_TRACE(nn::to_string(arithmetic.products));
    residual::expect_copies_to_follow_updates(arithmetic);
  }
}

TEST(Bf16, MakesTheSameBitsAgain) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  for (const nn::Arithmetic& arithmetic : arithmetics()) {
    SCOPED_TRACE(nn::to_string(arithmetic.products));
    residual::expect_same_bits_made_again(arithmetic);
  }
}

TEST(Bf16, GivesASampleTheSameBitsInAnyBatch) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  for (const nn::Arithmetic& arithmetic : arithmetics()) {
    SCOPED_TRACE(nn::to_string(arithmetic.products));
    residual::expect_same_bits_in_any_batch(arithmetic);
  }
}

TEST(Bf16, TakesHalfTheMemoryOfActivations) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  const Network net = residual::test_network({32, 32}, 32, 1);
  nn::Device device;
  const auto bytes = [&](nn::ExecutorOptions options) {
    options.plan_only = true;
    return nn::Executor(net, options, device, nullptr).memory_bytes().at("unshared: activations");
  };
  EXPECT_NEAR(static_cast<double>(bytes(options_for(8, 8))) /
                  static_cast<double>(bytes(residual::options_for(8, 8))),
              0.5, 0.01);
}

TEST(Bf16, RefusesWhatIsNotThere) {
  const Network net = residual::test_network({8, 8}, 16, 2);
  nn::Device device;
  nn::ExecutorOptions options = options_for(4, 4);
  options.instruction_set = base::InstructionSet::kAvx2;
  EXPECT_EQ(
      base::thrown_message<base::ConfigError>([&] { nn::Executor(net, options, device, nullptr); }),
      "precision bf16: expected a CPU with avx512_bf16, this one offers avx2; f32 runs "
      "everywhere");
  options.arithmetic = {nn::Precision::kF32, {"conv9"}};
  EXPECT_EQ(
      base::thrown_message<base::ConfigError>([&] { nn::Executor(net, options, device, nullptr); }),
      "f32_layers: expected convolutions, got conv9");
}

}  // namespace
