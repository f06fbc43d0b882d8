// Chains of layers in training against one rank that has everything: for all ways to distribute
// layers over ranks.
#include "workloads/parallel/split_layers/split_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/nodes.h"
#include "workloads/parallel/split_layers/planner.h"

namespace {

using parallel::Chain;
using parallel::ChainDistribution;
using parallel::ChainLayer;
using parallel::Distribution;
using parallel::Range;
using parallel::SplitModel;
using Kind = ChainLayer::Kind;

/// Every kind of layer; channels and samples that no number of ranks divides.
Chain images() {
  return {{3, {8, 8}},
          {{Kind::kConvolution, "conv1", 18, 3, 1, 1, true},
           {Kind::kMaxPool, "pool1", 0, 2, 2},
           {Kind::kConvolution, "conv2", 16, 3, 1, 1, false, /*has_bias=*/false},
           {Kind::kBatchNorm, "bn2", 0, 1, 1, 0, true},
           {Kind::kConvolution, "conv3", 11, 1, 1, 0, true},
           {Kind::kFullyConnected, "fc1", 21, 1, 1, 0, true},
           {Kind::kFullyConnected, "fc2", 5}}};
}

/// With a mean over pixels in front of the classifier.
Chain pooled() {
  return {{8, {6, 6}},
          {{Kind::kConvolution, "conv", 24, 3, 2, 1, true},
           {Kind::kAveragePool, "mean"},
           {Kind::kFullyConnected, "fc1", 16, 1, 1, 0, true},
           {Kind::kFullyConnected, "fc2", 4}}};
}

using MakeOptimizer = SplitModel::MakeOptimizer;

std::unique_ptr<nn::Optimizer> sgd() {
  nn::SgdConfig config;
  config.momentum = 0.9;
  config.weight_decay = 1e-3;
  return nn::make_sgd(config);
}

std::unique_ptr<nn::Optimizer> lars() {
  nn::LarsConfig config;
  config.weight_decay = 1e-3;
  return nn::make_lars(config);
}

std::unique_ptr<nn::Optimizer> lamb() {
  // A small epsilon would amplify rounding errors of small gradients.
  return nn::make_lamb({.epsilon = 0.1, .max_gradient_norm = 0.0});
}

struct Settings {
  std::int64_t batch = 13, accumulation = 1, bn_group_size = 1;
  MakeOptimizer optimizer = sgd;
  double learning_rate = 0.05;
  parallel::GradientTravel gradients = {};
};

using Weights = std::map<std::string, std::vector<float>>;

class Training {
 public:
  Training(const Chain& chain, const ChainDistribution& distribution, const Settings& settings,
           const runner::Communicator& world, const runner::Communicator& node)
      : chain_(chain), settings_(settings), telemetry_(clock_) {
    parallel::DataParallelConfig config;
    config.global_batch = settings.batch;
    config.accumulation = settings.accumulation;
    config.bn_group_size = settings.bn_group_size;
    config.instruction_set = base::usable_instruction_set();
    config.gradients = settings.gradients;
    model_ = std::make_unique<SplitModel>(chain, distribution, config, settings.optimizer, world,
                                          node, telemetry_);
    model_->initialize(7);
  }
  void step() {
    const std::int64_t size = chain_.input.size();
    const std::int64_t classes = parallel::shapes_of(chain_).back().channels;
    model_->step(
        [&](Range samples, std::span<float> values) {
          ASSERT_EQ(static_cast<std::int64_t>(values.size()), samples.count() * size);
          for (std::int64_t s = samples.begin; s < samples.end; ++s) {
            base::RandomStream stream(3, base::Purpose::kGenerate, 0,
                                      static_cast<std::uint64_t>(s));
            for (std::int64_t i = 0; i < size; ++i) {
              values[static_cast<std::size_t>((s - samples.begin) * size + i)] =
                  static_cast<float>(stream.uniform(-1.0, 1.0));
            }
          }
        },
        [&](Range samples, std::span<const float> outputs, std::span<float> gradient) {
          std::vector<std::int32_t> labels;
          for (std::int64_t s = samples.begin; s < samples.end; ++s) {
            labels.push_back(static_cast<std::int32_t>(s % classes));
          }
          nn::softmax_cross_entropy(outputs, labels, 0.0,
                                    1.0 / static_cast<double>(settings_.batch), gradient);
        },
        settings_.learning_rate);
  }
  Weights weights_after(int steps) {
    for (int i = 0; i < steps; ++i) step();
    return model_->weights();
  }
  /// What `steps` steps add to the weights.
  Weights learned(int steps) {
    const Weights before = model_->weights();
    Weights after = weights_after(steps);
    for (auto& [name, values] : after) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= before.at(name)[i];
    }
    return after;
  }
  SplitModel& model() { return *model_; }

 private:
  const Chain chain_;
  const Settings settings_;
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  std::unique_ptr<SplitModel> model_;
};

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    square += std::pow(static_cast<double>(a.at(i)) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(square / norm);
}

/// Expects updates within `tolerance` of those of one rank.
void expect_equal(const Weights& found, const Weights& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, values] : expected) {
    EXPECT_LT(distance(found.at(name), values), tolerance) << name;
  }
}

ChainDistribution alone(const Chain& chain) { return parallel::distribution_by(chain, 1, 1, 1); }

Weights of_one_rank(const Chain& chain, const Settings& settings, int steps) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator self = world.split(-1, 0);
  return Training(chain, alone(chain), settings, self, self).learned(steps);
}

/// All combinations of the layers' candidates, or if there are more than `most`, as many of them,
/// and those with the same groups for all layers.
std::vector<ChainDistribution> combinations(const Chain& chain, std::int64_t samples, int ranks,
                                            std::size_t most = 16) {
  const auto layers = parallel::weighted_layers(chain);
  std::vector<ChainDistribution> all;
  ChainDistribution distribution = parallel::distribution_by(chain, samples, ranks, 1);
  const std::function<void(std::size_t)> choose = [&](std::size_t layer) {
    if (layer == layers.size()) return all.push_back(distribution);
    for (const Distribution& one : parallel::candidates(layers[layer], samples, ranks)) {
      distribution.layers[layer] = one;
      choose(layer + 1);
    }
  };
  choose(0);
  if (all.size() <= most) return all;
  std::vector<ChainDistribution> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  for (int group = 1; group <= ranks; ++group) {
    if (ranks % group == 0) some.push_back(parallel::distribution_by(chain, samples, ranks, group));
  }
  return some;
}

std::string text_of(const ChainDistribution& distribution, int ranks) {
  std::string text;
  for (const Distribution& one : distribution.layers) text += to_string(one, ranks) + "; ";
  return text + "loss " + to_string(distribution.loss, ranks);
}

void expect_all(const Chain& chain, const Settings& settings, double tolerance) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = world.split_node();
  constexpr int kSteps = 2;
  const Weights expected = of_one_rank(chain, settings, kSteps);
  for (const ChainDistribution& one :
       combinations(chain, settings.batch / settings.accumulation, world.size())) {
    SCOPED_TRACE(text_of(one, world.size()));
    expect_equal(Training(chain, one, settings, world, node).learned(kSteps), expected, tolerance);
  }
}

TEST(SplitModel, LearnsWhatOneRankLearnsForAllDistributions) {
  expect_all(images(), {}, 1e-4);
  expect_all(pooled(), {}, 1e-4);
  expect_all(parallel::perceptron({19, 17, 33, 8}), {}, 1e-4);
}

/// Trust ratios are of whole tensors, of which a rank has a part. Inputs that no number of ranks
/// divides, and parts of different numbers of update cells.
TEST(SplitModel, LearnsWhatOneRankLearnsByLars) {
  const Settings settings = {.optimizer = lars, .learning_rate = 5.0};
  expect_all(parallel::perceptron({24, 16, 8}), settings, 1e-4);
  expect_all(parallel::perceptron({2049, 17, 300, 8}), settings, 1e-4);
}

TEST(SplitModel, AccumulatesAndSharesStatistics) {
  expect_all(images(), {.batch = 24, .accumulation = 2, .bn_group_size = 4}, 2e-4);
}

/// More ranks than samples: some compute the same.
TEST(SplitModel, LearnsWithFewerSamplesThanRanks) {
  expect_all(parallel::perceptron({24, 16, 8}), {.batch = 2}, 1e-4);
}

/// Ranks go on with all features of the same samples: an allreduce.
TEST(SplitModel, LearnsWhereRanksComputeTheSame) {
  const runner::Communicator world = runner::Communicator::world();
  const int ranks = world.size();
  const Chain chain = parallel::perceptron({24, 16, 8});
  const Weights expected = of_one_rank(chain, {}, 2);
  for (int group = 2; group <= ranks; ++group) {
    if (ranks % group != 0) continue;
    const Distribution alike = {group, false}, split = parallel::split_by(group);
    for (const ChainDistribution& one : {ChainDistribution{{split, split}, alike},
                                         {{split, alike}, alike},
                                         {{alike, split}, {}}}) {
      SCOPED_TRACE(text_of(one, ranks));
      const runner::Communicator node = world.split_node();
      Training training(chain, one, {}, world, node);
      expect_equal(training.learned(2), expected, 1e-4);
    }
  }
}

TEST_P(Nodes, LearnWhatOneRankLearns) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const Chain chain = parallel::perceptron({24, 16, 8});
  // Norms are of parts, whose ranks may be on one node or on several.
  std::vector<Settings> all;
  for (const bool is_late : {false, true}) {
    for (const bool is_divided : {false, true}) {
      const parallel::GradientTravel travel = {.divided_update = is_divided,
                                               .late_update = is_late};
      all.push_back({.gradients = travel});
      all.push_back({.optimizer = lars, .learning_rate = 5.0, .gradients = travel});
      all.push_back({.optimizer = lamb, .learning_rate = 0.01, .gradients = travel});
    }
  }
  for (const Settings& settings : all) {
    const Weights expected = of_one_rank(chain, settings, 3);
    for (const ChainDistribution& one : combinations(chain, settings.batch, world.size(), 4)) {
      SCOPED_TRACE(text_of(one, world.size()));
      expect_equal(Training(chain, one, settings, world, node).learned(3), expected, 1e-4);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Layouts, Nodes, kLayouts, [](const auto& layout) { return layout.param; });

TEST(SplitModel, GivesTheSameBitsAgain) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = world.split_node();
  const Chain chain = images();
  const ChainDistribution split = parallel::distribution_by(chain, 13, world.size(), 2);
  Training first(chain, split, {}, world, node), second(chain, split, {}, world, node);
  EXPECT_EQ(first.weights_after(3), second.weights_after(3));
}

/// Ranks that split layers divide their weights: these fill the blocks in which they are kept.
TEST(SplitModel, PlansTheMemoryOfParts) {
  const Chain chain = parallel::perceptron({1024, 512, 64});
  parallel::DataParallelConfig config;
  config.global_batch = 64;
  config.instruction_set = base::usable_instruction_set();
  const auto bytes = [&](int ranks, int group) {
    return parallel::memory_bytes(chain, parallel::distribution_by(chain, 64, ranks, group), config,
                                  2, 0, ranks);
  };
  const auto one = bytes(1, 1), apart = bytes(4, 1), split = bytes(4, 4);
  constexpr std::int64_t kWeights = (1024 * 512 + 512 * 64) * 4, kBiases = (512 + 64) * 4;
  EXPECT_EQ(one.at("weights"), kWeights + kBiases);
  EXPECT_EQ(apart.at("weights"), one.at("weights"));
  EXPECT_GE(split.at("weights"), kWeights / 4);
  EXPECT_LE(split.at("weights"), kWeights / 4 + kBiases);
  EXPECT_EQ(split.at("optimizer state"), 2 * split.at("weights"));
  EXPECT_EQ(split.at("first weights"), 2 * 1024 * 512 * 4);
  // Partial sums of all features of all samples.
  EXPECT_GE(split.at("exchange of activations"), 64 * 512 * 4);
  EXPECT_LT(apart.at("exchange of activations"), split.at("exchange of activations"));
}

TEST(SplitModel, RefusesWhatItCannotDo) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = world.split_node();
  const Chain chain = parallel::perceptron({24, 16, 8});
  const ChainDistribution plain = parallel::distribution_by(chain, 13, world.size(), 1);
  const auto limited = [] { return nn::make_lamb({.max_gradient_norm = 1.0}); };
  EXPECT_THROW(Training(chain, plain, {.optimizer = limited}, world, node), base::ConfigError);
  for (const int group : {0, 2 * world.size()}) {
    EXPECT_THROW(Training(chain, {plain.layers, {group, false}}, {}, world, node),
                 base::ConfigError);
  }
  EXPECT_THROW(Training(chain, {{}, {}}, {}, world, node), base::ConfigError);
  if (world.size() > 1) {
    const Distribution alike = {world.size(), false};
    const Settings rounded = {.gradients = {.payload = parallel::GradientPayload::kInt8}};
    EXPECT_THROW(Training(chain, {{alike, alike}, alike}, rounded, world, node), base::ConfigError);
  }
  const runner::Communicator self = world.split(-1, 0);
  EXPECT_THROW(Training(chain, alone(chain), {.batch = 0}, self, self), base::ConfigError);
}

}  // namespace
