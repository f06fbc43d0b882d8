// The planner against formulas, published examples, and all combinations.
#include "workloads/parallel/split_layers/planner.h"

#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "runner/base/error.h"

namespace {

using parallel::Chain;
using parallel::ChainDistribution;
using parallel::ChainLayer;
using parallel::Distribution;
using parallel::SplitPlan;
using Kind = ChainLayer::Kind;

TEST(Formulas, GiveThePublishedRatios) {
  // ResNet-50 with 8 samples a rank and full overlap: 150,528 FLOP per byte for images of 112 x
  // 112, 588 for 7 x 7.
  parallel::WeightedLayer layer;
  layer.out = {64, {112, 112}};
  EXPECT_EQ(parallel::computation_per_byte(layer, 8, 1.0), 150528.0);
  layer.out = {512, {7, 7}};
  EXPECT_EQ(parallel::computation_per_byte(layer, 8, 1.0), 588.0);
  EXPECT_EQ(parallel::computation_per_byte(layer, 8, 0.0), 294.0);
  // 64 ranks, 256 samples, 4096 outputs: 2 data parts, and without overlap sqrt(N M / outputs).
  EXPECT_DOUBLE_EQ(parallel::best_data_parts(256, 64, 4096, 0.0), 2.0);
  EXPECT_EQ(parallel::best_data_parts(1, 64, 4096, 0.0), 1.0);
  EXPECT_EQ(parallel::best_data_parts(1 << 20, 64, 10, 0.0), 64.0);
}

/// bytes(G) = 4 (2 inputs M / G + inputs outputs (2 - overlap) G / N): for many ranks and inputs as
/// many as outputs, what is counted comes near.
TEST(Formulas, AgreeWithCountedBytes) {
  constexpr int kRanks = 64;
  constexpr std::int64_t kSamples = 256, kWidth = 4096;
  const Chain chain = parallel::perceptron({kWidth, kWidth, kWidth, kWidth});
  for (const int data_parts : {1, 2, 4, 8}) {
    const int group = kRanks / data_parts;
    const ChainDistribution all = parallel::distribution_by(chain, kSamples, kRanks, group);
    const double counted =
        static_cast<double>(parallel::communication_of(chain, all, kSamples, kRanks).total()) /
        kRanks / 3;
    // Ranks send their parts' gradients twice, but for one part in as many as there are ranks. Of
    // activations a rank keeps its own part; biases, and data, are few.
    const double gradients = 4.0 * 2.0 * kWidth * kWidth * (data_parts - 1) / kRanks;
    const double activations = 4.0 * 2.0 * kWidth * kSamples / data_parts;
    EXPECT_NEAR(counted, gradients + activations, 0.05 * (gradients + activations)) << data_parts;
  }
}

/// Calls use for each combination of candidates.
void for_all(const Chain& chain, std::int64_t samples, int ranks,
             const std::function<void(const ChainDistribution&)>& use) {
  const auto layers = parallel::weighted_layers(chain);
  ChainDistribution distribution = parallel::distribution_by(chain, samples, ranks, 1);
  const std::function<void(std::size_t)> choose = [&](std::size_t layer) {
    if (layer == layers.size()) return use(distribution);
    for (const Distribution& one : parallel::candidates(layers[layer], samples, ranks)) {
      distribution.layers[layer] = one;
      choose(layer + 1);
    }
  };
  choose(0);
}

Chain small_images() {
  return {{3, {16, 16}},
          {{Kind::kConvolution, "conv1", 16, 3, 1, 1, true},
           {Kind::kMaxPool, "pool1", 0, 2, 2},
           {Kind::kConvolution, "conv2", 64, 3, 1, 1, false, /*has_bias=*/false},
           {Kind::kBatchNorm, "bn2", 0, 1, 1, 0, true},
           {Kind::kMaxPool, "pool2", 0, 4, 4},
           {Kind::kFullyConnected, "fc1", 300, 1, 1, 0, true},
           {Kind::kFullyConnected, "fc2", 10}}};
}

TEST(Plan, TakesTheLeastOfAllCombinations) {
  for (const Chain& chain : {small_images(), parallel::perceptron({700, 30, 900, 12})}) {
    for (const int ranks : {1, 2, 4, 6, 8}) {
      for (const std::int64_t samples : {3, 16, 64, 1000}) {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for_all(chain, samples, ranks, [&](const ChainDistribution& one) {
          least = std::min(least, parallel::communication_of(chain, one, samples, ranks).total());
        });
        const SplitPlan plan = parallel::plan_layers(chain, samples, ranks);
        EXPECT_EQ(plan.communication.total(), least) << ranks << " ranks, " << samples;
        EXPECT_LE(plan.communication.total(), plan.data_parallel.total());
      }
    }
  }
}

/// The same bytes by counting what stages have and what edges between them send.
TEST(Plan, CountsWhatStagesExchange) {
  for (const int ranks : {2, 4, 8}) {
    constexpr std::int64_t kSamples = 16, kFloat = 4;
    for_all(small_images(), kSamples, ranks, [&](const ChainDistribution& one) {
      const parallel::Communication counted =
          parallel::communication_of(small_images(), one, kSamples, ranks);
      std::int64_t activations = 0, gradients = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        for (const parallel::Stage& stage : parallel::cut(small_images(), one, rank, ranks)) {
          const int parts = stage.distribution.data_parts(ranks);
          // Of `parts` ranks each sends 2 (parts - 1) / parts of its gradients.
          gradients += 2 * (parts - 1) * stage.network.parameter_count() * kFloat / parts;
        }
      }
      const auto stages = parallel::cut(small_images(), one, 0, ranks);
      const auto edges = parallel::edges_of(stages, one.loss, kSamples);
      for (const parallel::ActivationEdge& edge : edges) {
        activations += parallel::activation_bytes(edge, ranks);
      }
      // Data have no gradient.
      activations -= parallel::bytes_between(parallel::wanted_shares(edges.front(), ranks),
                                             parallel::made_shares(edges.front(), ranks),
                                             parallel::Sources::kOne);
      EXPECT_EQ(counted.activations, activations);
      EXPECT_NEAR(static_cast<double>(counted.gradients), static_cast<double>(gradients),
                  64.0 * ranks);  // whole bytes of each rank
    });
  }
}

/// Convolutions by samples, the first fully connected layers by features, as the paper has it.
TEST(Plan, SplitsTheClassifierOfAlexNet) {
  const SplitPlan plan = parallel::plan_layers(parallel::alexnet(), 256, 16);
  for (const parallel::PlannedLayer& layer : plan.layers) {
    if (layer.name.starts_with("conv")) {
      EXPECT_EQ(layer.chosen, Distribution()) << layer.name;
    }
    if (layer.name == "fc6" || layer.name == "fc7") {
      EXPECT_TRUE(layer.chosen.splits_features) << layer.name;
    }
    ASSERT_NE(layer.next_best(), nullptr);
    EXPECT_NE(layer.next_best()->distribution, layer.chosen);
    EXPECT_GE(layer.next_best()->communication.total(), plan.communication.total());
  }
  EXPECT_LT(plan.communication.total(), plan.data_parallel.total() / 4);
}

TEST(Plan, LetsRanksComputeTheSameWithMoreRanksThanSamples) {
  const Chain chain = parallel::perceptron({6, 5, 4});
  const SplitPlan plan = parallel::plan_layers(chain, 2, 8);
  EXPECT_EQ(plan.distribution.loss, (Distribution{4, false}));
  EXPECT_THROW(parallel::plan_layers(chain, 0, 2), base::ConfigError);
}

}  // namespace
