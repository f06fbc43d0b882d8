// The engine in bf16 against its plain twin in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/nn/bf16_comparison.h"
#include "workloads/nn/onednn.h"
#include "workloads/nn/product_rates.h"
#include "workloads/nn/residual_expectations.h"

namespace {

using bf16::Comparison;
using bf16::has_bf16;
using bf16::kForwardTolerance;
using bf16::kFrozenTolerance;
using bf16::kGradientTolerance;
using bf16::kRoundingTolerance;
using bf16::options_for;
using nn::Network;

/// One for products of pairs, one for products of floats.
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

struct Case {
  const char* name;
  std::vector<std::int64_t> spatial;
  std::int64_t width, stride, batch, group;
  friend void PrintTo(const Case& shape, std::ostream* out) { *out << shape.name; }
};

Comparison comparison_of(const Case& c, nn::Mode mode) {
  return {residual::test_network(c.spatial, c.width, c.stride), c.batch, c.group, mode};
}

class Bf16Engine : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  }
  static Comparison compared(nn::Mode mode, nn::Products products) {
    Comparison comparison = comparison_of(GetParam(), mode);
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
                                         // Weight gradients by this project's products.
                                         Case{"windows", {14, 12}, 64, 2, 4, 4}),
                         [](const auto& named) { return named.param.name; });

TEST(Bf16, AgreesWithItsPlainTwinOnVolumes) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  // Statistics are frozen: oneDNN's pooling of volumes rounds each addition where windows overlap,
  // which batch statistics would magnify.
  Comparison comparison =
      comparison_of({"volume", {6, 6, 8}, 16, 2, 4, 4}, nn::Mode::kFrozenStatistics);
  nn::Device device;
  nn::Executor executor(comparison.net(), options_for(4, 4), device, nullptr);
  comparison.run(executor);
  EXPECT_LT(comparison.forward_error, kForwardTolerance);
  EXPECT_LT(comparison.gradient_error, kFrozenTolerance);
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
      const bool is_by_pairs = layer.implementation.find("pair") != std::string::npos ||
                               layer.implementation.find("tile") != std::string::npos;
      EXPECT_EQ(is_by_pairs, products == nn::Products::kPairs)
          << layer.name << ": " << layer.implementation;
    }
  }
}

const Case kSquare = {"square", {12, 12}, 16, 2, 4, 4};

TEST(Bf16, LeavesNamedLayersInSinglePrecision) {
  if (!has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  Comparison comparison = comparison_of(kSquare, nn::Mode::kFrozenStatistics);
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
  const nn::Kernels& kernels = nn::kernels(base::usable_instruction_set());
  const nn::ProductRates rates = nn::measure_product_rates(kernels);
  // On any CPU of 1 to 6 GHz that executes two, one or half an instruction per clock.
  for (const double rate : {rates.floats, rates.pairs}) {
    EXPECT_GT(rate, 16e9 / 2);
    EXPECT_LT(rate, 32e9 * 2 * 6);
  }
  const auto products = [&](const nn::Arithmetic& arithmetic) {
    return nn::CpuProducts(arithmetic, kernels, device);
  };
  for (const nn::Arithmetic& arithmetic : arithmetics()) {
    EXPECT_EQ(products(arithmetic).own(), arithmetic.products);
    EXPECT_EQ(products(arithmetic).library(), arithmetic.products);
  }
  nn::Arithmetic arithmetic = arithmetics().front();
  arithmetic.products = nn::Products::kFaster;
  const nn::Products faster = products(arithmetic).own();
  ASSERT_NE(faster, nn::Products::kFaster);
  EXPECT_EQ(products(arithmetic).own(), faster) << "not measured twice";
  EXPECT_EQ(products(arithmetic).library(),
            device.multiplies_in_tiles ? nn::Products::kPairs : faster);
  for (const nn::Products agreed : {nn::Products::kPairs, nn::Products::kFloats}) {
    arithmetic.faster = agreed;
    EXPECT_EQ(products(arithmetic).own(), agreed);
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
  options.kernels = nn::kernels(base::InstructionSet::kBaseline);
  EXPECT_EQ(
      base::thrown_message<base::ConfigError>([&] { nn::Executor(net, options, device, nullptr); }),
      "precision bf16: expected a CPU with avx512_bf16, this one offers baseline; f32 runs "
      "everywhere");
  options.arithmetic = {};
  options.arithmetic.f32_layers = {"conv9"};
  EXPECT_EQ(
      base::thrown_message<base::ConfigError>([&] { nn::Executor(net, options, device, nullptr); }),
      "f32_layers: expected convolutions, got conv9");
}

}  // namespace
