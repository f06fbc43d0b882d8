// Expectations that hold for the engine in any arithmetic, on the residual network.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "workloads/nn/residual_network.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/optimizer/momentum_optimizers.h"

namespace residual {

/// The results of a training pass over `input`.
struct PassResults {
  std::vector<float> outputs, gradients;
  bool operator==(const PassResults&) const = default;
};
inline PassResults training_pass(nn::Executor& executor, const Array& input,
                                 bool accumulate = false) {
  std::copy(input.begin(), input.end(), executor.input().begin());
  executor.forward(nn::Mode::kTraining);
  PassResults results;
  results.outputs.assign(executor.outputs().begin(), executor.outputs().end());
  std::fill(executor.output_gradient().begin(), executor.output_gradient().end(), 0.5F);
  executor.backward(accumulate, nullptr);
  const auto gradients = executor.parameters().all_gradients();
  results.gradients.assign(gradients.begin(), gradients.end());
  return results;
}

/// Accumulated gradients of two passes are the sum of each pass's.
inline void expect_sum_of_passes(const std::vector<std::int64_t>& spatial, std::int64_t batch,
                                 const nn::Arithmetic& arithmetic) {
  const Network net = test_network(spatial, 16, 2);
  nn::Device device;
  nn::ExecutorOptions options = options_for(batch, batch);
  options.accumulates = true;
  options.arithmetic = arithmetic;
  nn::Executor executor(net, options, device, nullptr);
  load(executor, net, test_parameters(net));
  const auto run = [&](std::uint64_t seed, bool accumulate) {
    return training_pass(executor, noise(batch * net.shape(0).size(), 1.0, seed), accumulate)
        .gradients;
  };
  const std::vector<float> first = run(30, false);
  const std::vector<float> second = run(19, false);
  run(30, false);
  const std::vector<float> both = run(19, true);
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_EQ(both[i], first[i] + second[i]) << i;
}

inline void expect_same_bits_in_any_batch(const nn::Arithmetic& arithmetic) {
  const Network net = test_network({16, 16}, 32, 2);
  const std::vector<Array> parameters = test_parameters(net);
  nn::Device device;
  const Array input = noise(24 * net.shape(0).size(), 1.0, 3);
  std::vector<float> reference;
  for (const std::int64_t batch : {24, 12, 6}) {
    nn::ExecutorOptions options = options_for(batch, 6);
    options.arithmetic = arithmetic;
    nn::Executor executor(net, options, device, nullptr);
    load(executor, net, parameters);
    std::copy_n(input.begin(), executor.input().size(), executor.input().begin());
    executor.forward(nn::Mode::kTraining);
    const std::vector<float> outputs(executor.outputs().begin(), executor.outputs().end());
    if (reference.empty()) reference = outputs;
    EXPECT_TRUE(std::equal(outputs.begin(), outputs.end(), reference.begin())) << batch;
  }
}

/// Outputs have the same bits however a pass is sliced; weight gradients are other sums of the same
/// addends.
inline void expect_same_bits_in_slices(const nn::Arithmetic& arithmetic) {
  const Network net = test_network({16, 16}, 32, 2);
  const std::vector<Array> parameters = test_parameters(net);
  nn::Device device;
  const Array input = noise(10 * net.shape(0).size(), 1.0, 3);
  PassResults reference;
  for (const std::int64_t slice : {10, 5, 3, 1}) {
    nn::ExecutorOptions options = options_for(10, 5);
    options.arithmetic = arithmetic;
    options.slice_samples = slice;
    nn::Executor executor(net, options, device, nullptr);
    load(executor, net, parameters);
    const PassResults now = training_pass(executor, input);
    if (reference.outputs.empty()) reference = now;
    EXPECT_EQ(now.outputs, reference.outputs) << slice;
    const Array gradients(reference.gradients.begin(), reference.gradients.end());
    EXPECT_LT(plain::relative_l2(now.gradients, gradients), 1e-5) << slice;
  }
}

/// Updates by an optimizer reach all copies of the weights: the next pass equals that of a network
/// that was given the new weights.
inline void expect_copies_to_follow_updates(const nn::Arithmetic& arithmetic) {
  const Network net = test_network({16, 16}, 32, 2);
  nn::Device device;
  nn::ExecutorOptions options = options_for(6, 6);
  options.arithmetic = arithmetic;
  nn::Executor trained(net, options, device, nullptr), fresh(net, options, device, nullptr);
  load(trained, net, test_parameters(net));
  const Array input = noise(6 * net.shape(0).size(), 1.0, 3);
  if (base::usable_instruction_set() >= base::InstructionSet::kAvx512) {
    EXPECT_TRUE(trained.memory_bytes().contains("weights in other layouts"));
  }
  const PassResults before = training_pass(trained, input);
  for (const auto& optimizer : {nn::make_sgd({.momentum = 0.9}), nn::make_lars({}),
                                nn::make_adagrad({}), nn::make_lamb({})}) {
    optimizer->step(trained.parameters().views(), 0.1);
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      const auto id = static_cast<nn::ParameterId>(i);
      fresh.parameters().write_weights(id, trained.parameters().read_weights(id));
    }
    const PassResults after = training_pass(trained, input);
    EXPECT_FALSE(after == before);
    EXPECT_TRUE(after == training_pass(fresh, input));
  }
}

/// Recomputed values have the bits of kept ones, and so have the gradients.
inline void expect_same_bits_made_again(const nn::Arithmetic& arithmetic) {
  const Network net = test_network({16, 16}, 32, 2);
  const std::vector<Array> parameters = test_parameters(net);
  nn::Device device;
  const Array input = noise(10 * net.shape(0).size(), 1.0, 3);
  for (const std::int64_t slice : {10, 3}) {
    PassResults kept;
    for (const nn::Recompute recompute : nn::kAllRecompute) {
      nn::ExecutorOptions options = options_for(10, 5);
      options.arithmetic = arithmetic;
      options.slice_samples = slice;
      options.recompute = recompute;
      nn::Executor executor(net, options, device, nullptr);
      load(executor, net, parameters);
      const PassResults now = training_pass(executor, input);
      if (recompute == nn::Recompute::kNone) kept = now;
      EXPECT_TRUE(now == kept) << nn::to_string(recompute);
    }
  }
}

}  // namespace residual
