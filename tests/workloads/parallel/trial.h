// A small network in training on several ranks, for tests of how ranks share its steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/system_facts.h"
#include "telemetry_account.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/data_parallel.h"

inline constexpr std::int64_t kGlobalBatch = 48;
inline constexpr std::int64_t kClasses = 7;

/// A small residual network with every kind of layer, whose last layers have one pixel: a step
/// takes a few milliseconds.
inline nn::Network small_network() {
  const nn::Initializer weights = {nn::Distribution::kTruncatedNormal, 0.2, 0.0};
  const nn::Padding one = nn::uniform_padding(2, 1, 1);
  nn::Network net;
  auto x = net.input({3, {16, 16}});
  x = net.batch_norm(net.convolution(x, {"conv1", 16, 3, 2, one, weights}), {"bn1"});
  x = net.max_pool(x, {3, 2, one});
  for (int block = 0; block < 2; ++block) {
    const std::string name = "block" + std::to_string(block);
    auto y = net.batch_norm(net.convolution(x, {name + ".conv1", 16, 1, 1, {}, weights}),
                            {name + ".bn1"});
    y = net.batch_norm(net.convolution(y, {name + ".conv2", 16, 3, 2, one, weights}),
                       {name + ".bn2"});
    const auto shortcut = net.batch_norm(
        net.convolution(x, {name + ".down", 16, 1, 2, {}, weights}), {name + ".bnd", false});
    x = net.batch_norm(net.convolution(y, {name + ".conv3", 16, 1, 1, {}, weights}),
                       {name + ".bn3"}, shortcut);
  }
  net.fully_connected(net.global_average_pool(x), {"fc", kClasses, weights, {}});
  return net;
}

inline std::vector<float> sample_values(const nn::Network& net, std::int64_t slot) {
  std::vector<float> values(static_cast<std::size_t>(net.shape(0).size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(
        std::sin(0.37 * static_cast<double>(i) + 1.7 * static_cast<double>(slot)));
  }
  return values;
}

inline void fill_input(const nn::Network& net, std::int64_t first, std::int64_t count,
                       std::span<float> input) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::vector<float> sample = sample_values(net, first + i);
    std::copy(sample.begin(), sample.end(),
              input.begin() + i * static_cast<std::ptrdiff_t>(sample.size()));
  }
}

inline double relative_l2(std::span<const float> a, std::span<const float> b) {
  double distance = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    distance += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(distance / norm);
}

inline std::unique_ptr<nn::Optimizer> make_lars() {
  nn::LarsConfig config;
  config.weight_decay = 1e-4;
  return nn::make_lars(config);
}

/// A model in training on `world`, by plain SGD or the given optimizer.
class Trial {
 public:
  Trial(const runner::Communicator& world, std::int64_t group_size, std::int64_t accumulation,
        std::int64_t batch = kGlobalBatch, nn::Mode mode = nn::Mode::kTraining)
      : Trial(world, world.split_node(), nn::make_sgd({}), group_size, accumulation, batch, mode) {}
  Trial(const runner::Communicator& world, runner::Communicator node,
        std::unique_ptr<nn::Optimizer> optimizer, std::int64_t group_size = 6,
        std::int64_t accumulation = 1, std::int64_t batch = kGlobalBatch,
        nn::Mode mode = nn::Mode::kTraining, nn::Network net = small_network(),
        nn::Recompute recompute = nn::Recompute::kNormalizations,
        parallel::GradientTravel gradients = {})
      : world_(world),
        node_(std::move(node)),
        batch_(batch),
        net_(std::move(net)),
        telemetry_(clock_),
        model_(net_,
               {.global_batch = batch,
                .accumulation = accumulation,
                .bn_group_size = group_size,
                .instruction_set = base::usable_instruction_set(),
                .mode = mode,
                .recompute = recompute,
                .gradients = gradients},
               world, node_, telemetry_),
        optimizer_(std::move(optimizer)) {
    model_.initialize(5, *optimizer_);
  }

  ~Trial() { telemetry::expect_whole_entry(telemetry::rank_entry({0, "here", 0, 1}, telemetry_)); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// An update whose end the next one may wait for.
  void begin_step(double learning_rate) {
    const std::int64_t count = model_.local_batch();
    std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
    outputs_.clear();
    model_.step(
        [&](std::int64_t pass) {
          const std::int64_t first = model_.split().slot(world_.rank(), pass, 0);
          fill_input(net_, first, count, model_.executor().input());
          for (std::int64_t i = 0; i < count; ++i) {
            labels[static_cast<std::size_t>(i)] = static_cast<std::int32_t>((first + i) % kClasses);
          }
        },
        [&](std::int64_t) {
          nn::Executor& executor = model_.executor();
          outputs_.insert(outputs_.end(), executor.outputs().begin(), executor.outputs().end());
          nn::softmax_cross_entropy(executor.outputs(), labels, 0.1,
                                    1.0 / static_cast<double>(batch_), executor.output_gradient());
        },
        *optimizer_, learning_rate);
  }
  void step(double learning_rate) {
    begin_step(learning_rate);
    model_.finish_update();
  }

  parallel::DataParallel& model() { return model_; }
  const telemetry::Telemetry& telemetry() const { return telemetry_; }
  std::int64_t nodes() const {
    std::int64_t first_ranks = node_.rank() == 0 ? 1 : 0;
    world_.allreduce_sum(std::span(&first_ranks, 1));
    return first_ranks;
  }
  const std::vector<float>& outputs() const { return outputs_; }
  std::vector<float> gradients() const { return model_.summed_gradients(); }
  std::span<const float> weights() { return model_.executor().parameters().all_weights(); }

 private:
  const runner::Communicator& world_;
  runner::Communicator node_;
  std::int64_t batch_;
  nn::Network net_;
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  parallel::DataParallel model_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  std::vector<float> outputs_;
};
