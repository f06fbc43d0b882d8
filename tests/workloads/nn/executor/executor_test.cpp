// The engine against its plain twin in double precision, and the twin against central differences.
#include "workloads/nn/executor/executor.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "runner/base/error.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/residual_expectations.h"
#include "workloads/nn/version.h"

namespace {

using nn::Network;
using plain::Array;
using residual::draw_statistics;
using residual::error_of;
using residual::kSmall;
using residual::load;
using residual::noise;
using residual::options_for;
using residual::set_statistics;
using residual::test_network;
using residual::test_parameters;

struct Case {
  const char* name;
  std::vector<std::int64_t> spatial;
  std::int64_t width, stride, batch, group;
  std::int64_t slice = 0;  ///< samples of a slice; 0: as many as fit the caches, here all
  friend void PrintTo(const Case& shape, std::ostream* out) { *out << shape.name; }
};

class Engine : public testing::TestWithParam<Case> {
 protected:
  static nn::ExecutorOptions options() {
    nn::ExecutorOptions options = options_for(GetParam().batch, GetParam().group);
    options.slice_samples = GetParam().slice;
    return options;
  }
};

/// Gives weights to a pass only when it says that it needs them.
class LateWeights final : public nn::PassListener {
 public:
  explicit LateWeights(nn::Executor& executor)
      : weights_(executor.parameters().all_weights()), kept_(weights_.begin(), weights_.end()) {
    std::fill(weights_.begin(), weights_.end(), std::nanf(""));
  }
  void weights_needed(std::int64_t first) override {
    EXPECT_LE(first, needed_);
    needed_ = first;
    std::copy(kept_.begin() + first, kept_.end(), weights_.begin() + first);
    ++calls_;
  }
  std::int64_t needed() const { return needed_; }
  int calls() const { return calls_; }

 private:
  const std::span<float> weights_;
  const std::vector<float> kept_;
  std::int64_t needed_ = static_cast<std::int64_t>(kept_.size());
  int calls_ = 0;
};

TEST_P(Engine, ReadsNoWeightsBeforeItNeedsThem) {
  const Case& shape = GetParam();
  const Network net = test_network(shape.spatial, shape.width, shape.stride);
  nn::Device device;
  nn::Executor executor(net, options(), device, nullptr);
  load(executor, net, test_parameters(net));
  const Array input = noise(shape.batch * net.shape(0).size(), 1.0, 3);
  std::copy(input.begin(), input.end(), executor.input().begin());
  executor.forward(nn::Mode::kTraining);
  const std::vector<float> expected(executor.outputs().begin(), executor.outputs().end());
  std::copy(input.begin(), input.end(), executor.input().begin());
  LateWeights late(executor);
  executor.forward(nn::Mode::kTraining, &late);
  const std::vector<float> found(executor.outputs().begin(), executor.outputs().end());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(late.needed(), 0);
  EXPECT_GT(late.calls(), 1);
}

/// fp32 rounding over a dozen layers, amplified by batch norm; a wrong formula gives about 1e-1.
constexpr double kForwardTolerance = 2e-5;
constexpr double kGradientTolerance = 1e-3;
/// Rounding alone, without the amplification by batch norm.
constexpr double kFrozenTolerance = 1e-5;

/// Compares a pass forward and backward with the plain one on the same data.
void expect_agreement(nn::Executor& executor, nn::Mode mode, const Array& input,
                      const Array& upstream, const plain::Pass& pass, double gradient_tolerance) {
  std::copy(input.begin(), input.end(), executor.input().begin());
  executor.forward(mode);
  const std::vector<float> outputs(executor.outputs().begin(), executor.outputs().end());
  EXPECT_LT(plain::relative_l2(outputs, pass.values.back()), kForwardTolerance);
  std::copy(upstream.begin(), upstream.end(), executor.output_gradient().begin());
  executor.backward(false, nullptr);
  for (std::size_t i = 0; i < pass.parameter_gradients.size(); ++i) {
    EXPECT_LT(error_of(executor.parameters().read_gradient(static_cast<int>(i)),
                       pass.parameter_gradients[i]),
              gradient_tolerance)
        << "of parameter " << i;
  }
}

TEST_P(Engine, AgreesWithItsPlainTwinForwardAndBackward) {
  const Case& c = GetParam();
  const Network net = test_network(c.spatial, c.width, c.stride);
  const std::vector<Array> parameters = test_parameters(net);
  const Array input = noise(c.batch * net.shape(0).size(), 1.0, 3);
  const Array upstream = noise(c.batch * 5, 1.0, 5);
  const plain::Options plain_options = {c.batch, c.group, true, {}, {}};
  plain::Pass pass = plain::forward(net, parameters, input, plain_options);
  plain::backward(net, parameters, plain_options, upstream, pass);

  nn::Device device;
  nn::Executor executor(net, options(), device, nullptr);
  load(executor, net, parameters);
  expect_agreement(executor, nn::Mode::kTraining, input, upstream, pass, kGradientTolerance);
  executor.statistics().finish_step(c.batch / c.group);
  executor.statistics().synchronize({});
  for (std::size_t s = 0; s < net.statistics().size(); ++s) {
    const auto mean = executor.statistics().mean(static_cast<int>(s));
    const auto variance = executor.statistics().variance(static_cast<int>(s));
    EXPECT_LT(plain::relative_l2(Array(mean.begin(), mean.end()), pass.running_mean[s]), 1e-4);
    EXPECT_LT(plain::relative_l2(Array(variance.begin(), variance.end()), pass.running_variance[s]),
              1e-4);
  }
}

TEST_P(Engine, AgreesWithItsPlainTwinWhereStatisticsAreFrozen) {
  const Case& c = GetParam();
  const Network net = test_network(c.spatial, c.width, c.stride);
  const std::vector<Array> parameters = test_parameters(net);
  const Array input = noise(c.batch * net.shape(0).size(), 1.0, 3);
  const Array upstream = noise(c.batch * 5, 1.0, 5);
  plain::Options plain_options = {c.batch, c.group, false, {}, {}};
  draw_statistics(net, plain_options);
  plain::Pass pass = plain::forward(net, parameters, input, plain_options);
  plain::backward(net, parameters, plain_options, upstream, pass);

  nn::Device device;
  nn::Executor executor(net, options(), device, nullptr);
  load(executor, net, parameters);
  set_statistics(executor, plain_options);
  expect_agreement(executor, nn::Mode::kFrozenStatistics, input, upstream, pass, kFrozenTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Engine,
    testing::Values(Case{"square", {12, 12}, 16, 2, 4, 2}, Case{"one_group", {12, 12}, 16, 1, 6, 6},
                    Case{"odd_channels", {9, 13}, 10, 2, 3, 3},
                    Case{"down_to_one_point", {4, 4}, 32, 2, 20, 20},
                    Case{"many_samples_one_point", {4, 4}, 16, 2, 18, 6},
                    Case{"few_points", {8, 8}, 32, 2, 20, 10},
                    Case{"few_points_of_odd_channels", {8, 6}, 10, 2, 5, 5},
                    Case{"few_points_in_a_row", {2, 8}, 16, 2, 3, 3},
                    Case{"single_samples", {16, 16}, 16, 1, 2, 1},
                    Case{"sample_by_sample", {12, 12}, 16, 2, 6, 3, 1},
                    Case{"slices_across_groups", {9, 13}, 10, 2, 8, 4, 3},
                    Case{"slices_beside_dense_layers", {8, 8}, 32, 2, 20, 10, 8},
                    Case{"slices_of_volumes", {6, 6, 8}, 16, 2, 5, 5, 2},
                    Case{"volume", {6, 6, 8}, 16, 2, 2, 2}, Case{"line", {24}, 16, 2, 4, 4}),
    [](const auto& named) { return named.param.name; });

/// Compares a gradient of sum(outputs * upstream) with central differences, for the middle element
/// of every parameter.
void expect_central_differences(const Network& net, const plain::Options& options) {
  std::vector<Array> parameters = test_parameters(net);
  const Array input = noise(4 * net.shape(0).size(), 1.0, 3);
  const Array upstream = noise(4 * 5, 1.0, 5);
  plain::Pass pass = plain::forward(net, parameters, input, options);
  plain::backward(net, parameters, options, upstream, pass);
  const auto objective = [&] {
    const Array outputs = plain::forward(net, parameters, input, options).values.back();
    double sum = 0.0;
    for (std::size_t i = 0; i < outputs.size(); ++i) sum += outputs[i] * upstream[i];
    return sum;
  };
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::size_t i = parameters[p].size() / 2;
    const double h = 1e-6 * std::max(1.0, std::abs(parameters[p][i]));
    const double kept = parameters[p][i];
    parameters[p][i] = kept + h;
    const double above = objective();
    parameters[p][i] = kept - h;
    const double below = objective();
    parameters[p][i] = kept;
    // With batch norm, 1e-5 of the gradient; some elements are zero by symmetry.
    EXPECT_NEAR((above - below) / (2 * h), pass.parameter_gradients[p][i],
                1e-5 + 1e-5 * std::abs(pass.parameter_gradients[p][i]))
        << net.parameters()[p].name;
  }
}

TEST(PlainNetwork, AgreesWithCentralDifferences) {
  expect_central_differences(test_network({6, 6}, 3, 2), {4, 2, true, {}, {}});
}

TEST(PlainNetwork, AgreesWithCentralDifferencesWhereStatisticsAreFrozen) {
  const Network net = test_network({6, 6}, 3, 2);
  plain::Options options = {4, 2, false, {}, {}};
  draw_statistics(net, options);
  expect_central_differences(net, options);
}

TEST(Executor, InferenceUsesTheRunningStatistics) {
  const Network net = test_network({8, 8}, 16, 2);
  const std::vector<Array> parameters = test_parameters(net);
  plain::Options options = {3, 3, false, {}, {}};
  draw_statistics(net, options);
  const Array input = noise(3 * net.shape(0).size(), 1.0, 3);
  const plain::Pass pass = plain::forward(net, parameters, input, options);
  for (const bool training : {false, true}) {
    nn::Device device;
    nn::ExecutorOptions executor_options = options_for(3, 3);
    executor_options.training = training;
    nn::Executor executor(net, executor_options, device, nullptr);
    load(executor, net, parameters);
    set_statistics(executor, options);
    std::copy(input.begin(), input.end(), executor.input().begin());
    executor.forward(nn::Mode::kInference);
    EXPECT_LT(
        plain::relative_l2(std::vector<float>(executor.outputs().begin(), executor.outputs().end()),
                           pass.values.back()),
        kForwardTolerance);
  }
}

/// Gradients of 3x3 convolutions on 16 x 16 pixels, by Winograd's tiles and by plain sums, against
/// the plain network in double precision.
TEST(Executor, GivesGradientsByTilesThatRoundLittleMore) {
  Network net;
  const nn::Padding one = nn::uniform_padding(2, 1, 1);
  auto x = net.input({32, {16, 16}});
  x = net.convolution(x, {"first", 32, 3, 1, one, kSmall});
  x = net.convolution(x, {"second", 48, 3, 1, one, kSmall});
  x = net.global_average_pool(x);
  net.fully_connected(x, {"fc", 5, kSmall, kSmall});
  const std::int64_t batch = 4;
  const std::vector<Array> parameters = test_parameters(net);
  const Array input = noise(batch * net.shape(0).size(), 1.0, 3);
  const Array upstream = noise(batch * 5, 1.0, 5);
  const plain::Options plain_options = {batch, batch, true, {}, {}};
  plain::Pass pass = plain::forward(net, parameters, input, plain_options);
  plain::backward(net, parameters, plain_options, upstream, pass);
  nn::Device device;
  std::vector<float> all[2];
  for (const bool by_tiles : {false, true}) {
    nn::ExecutorOptions options = options_for(batch, batch);
    options.arithmetic.winograd_gradients = by_tiles;
    nn::Executor executor(net, options, device, nullptr);
    load(executor, net, parameters);
    expect_agreement(executor, nn::Mode::kTraining, input, upstream, pass, 3e-6);
    all[by_tiles] = executor.parameters().read_gradient(net.operations()[1].weights);
  }
  // Neither other CPUs nor oneDNN 3 have Winograd.
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512) return;
  if (!nn::library_version().starts_with("2.")) return;
  EXPECT_NE(all[0], all[1]) << "are they made by tiles at all?";
}

TEST(Executor, BringsUpdatesToAllCopiesOfWeights) { residual::expect_copies_to_follow_updates({}); }

TEST(Executor, MakesTheSameBitsAgain) { residual::expect_same_bits_made_again({}); }

TEST(Executor, GivesTheSameBitsInSlices) { residual::expect_same_bits_in_slices({}); }

TEST(Executor, AccumulatedGradientsOfTwoPassesAreTheirSum) {
  // The last layers have a single pixel, and taps in the padding.
  residual::expect_sum_of_passes({4, 4}, 2, {});
}

TEST(Executor, GivesASampleTheSameBitsInAnyBatch) { residual::expect_same_bits_in_any_batch({}); }

/// Gradients of a network of one batch norm with frozen statistics, on `threads` threads.
std::vector<float> frozen_gradients(int threads) {
  Network net;
  net.global_average_pool(net.batch_norm(net.input({16, {9, 9}}), {"bn1"}));
  nn::Device device;
  nn::Executor executor(net, options_for(7, 7), device, nullptr);
  load(executor, net, test_parameters(net));
  const Array input = noise(7 * net.shape(0).size(), 1.0, 3);
  std::copy(input.begin(), input.end(), executor.input().begin());
  const Array upstream = noise(7 * 16, 1.0, 5);
  const int usual = omp_get_max_threads();
  omp_set_num_threads(threads);
  executor.forward(nn::Mode::kFrozenStatistics);
  std::copy(upstream.begin(), upstream.end(), executor.output_gradient().begin());
  executor.backward(false, nullptr);
  omp_set_num_threads(usual);
  return {executor.parameters().all_gradients().begin(),
          executor.parameters().all_gradients().end()};
}

TEST(Executor, SumsFrozenGradientsTheSameOnAnyNumberOfThreads) {
  const std::vector<float> one = frozen_gradients(1);
  EXPECT_EQ(frozen_gradients(2), one);
  EXPECT_EQ(frozen_gradients(3), one);
}

TEST(Executor, FrozenStatisticsUseTheWeightsOfTheMoment) {
  // Factors cached by an earlier pass would hide the weight update in between.
  const Network net = test_network({8, 8}, 16, 2);
  std::vector<Array> parameters = test_parameters(net);
  plain::Options options = {2, 2, false, {}, {}};
  draw_statistics(net, options);
  const Array input = noise(2 * net.shape(0).size(), 1.0, 3);
  nn::Device device;
  nn::Executor executor(net, options_for(2, 2), device, nullptr);
  set_statistics(executor, options);
  for (const nn::Mode mode : {nn::Mode::kInference, nn::Mode::kFrozenStatistics,
                              nn::Mode::kFrozenStatistics, nn::Mode::kInference}) {
    load(executor, net, parameters);
    std::copy(input.begin(), input.end(), executor.input().begin());
    executor.forward(mode);
    const std::vector<float> outputs(executor.outputs().begin(), executor.outputs().end());
    EXPECT_LT(
        plain::relative_l2(outputs, plain::forward(net, parameters, input, options).values.back()),
        kForwardTolerance);
    if (mode == nn::Mode::kInference) continue;  // weights stay the same between inference passes
    for (Array& values : parameters) {
      for (double& value : values) value *= 0.9;
    }
  }
}

TEST(Executor, CountsTheFlopsOfAForwardPass) {
  Network net;
  auto x = net.input({3, {8, 8}});
  x = net.convolution(x, {"conv1", 4, 3, 2, nn::uniform_padding(2, 1, 1), kSmall});
  x = net.global_average_pool(x);
  net.fully_connected(x, {"fc", 5, kSmall, kSmall});
  nn::Device device;
  const nn::Executor executor(net, options_for(2, 2), device, nullptr);
  const std::int64_t convolution = 4 * 3 * 9 * 16;
  const std::int64_t dense = 4 * 5;
  EXPECT_EQ(executor.forward_flops(), 2 * 2 * (convolution + dense));
  EXPECT_EQ(executor.training_flops(), 2 * 2 * (2 * convolution + 3 * dense));
}

TEST(Executor, RefusesAValueThatNothingUses) {
  Network net;
  const auto x = net.input({3, {8, 8}});
  net.convolution(x, {"lost", 4, 3, 2, nn::uniform_padding(2, 1, 1), kSmall});
  net.convolution(x, {"conv1", 4, 3, 2, nn::uniform_padding(2, 1, 1), kSmall});
  nn::Device device;
  EXPECT_THROW(nn::Executor(net, options_for(2, 2), device, nullptr), base::ShapeError);
}

}  // namespace
