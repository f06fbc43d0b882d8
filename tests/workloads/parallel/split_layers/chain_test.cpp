// Chains of layers, parts of their tensors, and their cut into stages.
#include "workloads/parallel/split_layers/chain.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runner/base/error.h"

namespace {

using parallel::Chain;
using parallel::ChainDistribution;
using parallel::ChainLayer;
using parallel::ParameterPart;
using parallel::split_by;
using parallel::Stage;
using Kind = ChainLayer::Kind;

TEST(Chain, HasTheWeightsThatArePublished) {
  const auto weights = [](const Chain& chain) {
    std::int64_t sum = 0;
    for (const auto& layer : parallel::weighted_layers(chain)) sum += layer.weights;
    return sum;
  };
  // One tower: Krizhevsky, arXiv:1404.5997, with 96, 256, 384, 384 and 256 channels.
  EXPECT_EQ(weights(parallel::alexnet()), 62'367'776);
  // Simonyan, Zisserman, arXiv:1409.1556, D: 138,357,544 with biases.
  EXPECT_EQ(weights(parallel::vgg16()), 138'357'544 - 13'416);
  const auto shapes = parallel::shapes_of(parallel::vgg16());
  EXPECT_EQ(shapes[shapes.size() - 4].spatial, (std::vector<std::int64_t>{7, 7}));
}

TEST(Chain, RefusesLayersThatDoNotFit) {
  Chain chain = parallel::perceptron({4, 3, 2});
  EXPECT_THROW(parallel::perceptron({4}), base::ConfigError);
  chain.layers.push_back({.kind = Kind::kAveragePool, .name = "pool"});
  EXPECT_THROW(parallel::shapes_of(chain), base::ShapeError);
  Chain image = {{3, {4, 4}}, {{Kind::kConvolution, "conv", 8, 7}}};
  EXPECT_THROW(parallel::shapes_of(image), base::ShapeError);
  image.layers = {{Kind::kConvolution, "conv", 8, 3}};
  EXPECT_THROW(parallel::shapes_of(image), base::ShapeError);  // ends with an image
  EXPECT_THROW(parallel::cut(parallel::perceptron({4, 3, 2}), {{split_by(2)}, {}}, 0, 2),
               base::ConfigError);
  EXPECT_THROW(
      parallel::cut(parallel::perceptron({4, 3, 2}), {{split_by(2), split_by(3)}, {}}, 0, 2),
      base::ConfigError);
  EXPECT_THROW(parallel::cut(parallel::perceptron({4, 3, 2}),
                             {{split_by(2), split_by(2)}, split_by(2)}, 0, 2),
               base::ConfigError);
  EXPECT_THROW(
      parallel::cut(parallel::perceptron({4, 3, 2}), {{split_by(8), split_by(8)}, {}}, 7, 8),
      base::ConfigError);  // more ranks than inputs
}

TEST(ParameterPart, IsCutFromTheWholeAndPutBack) {
  std::vector<float> whole(2 * 5 * 3);
  std::iota(whole.begin(), whole.end(), 0.0F);
  std::vector<float> again(whole.size());
  for (const parallel::Range range : {parallel::Range{0, 2}, {2, 5}}) {
    const ParameterPart part = {{"w", {2, 5, 3}, {}, true}, 1, range};
    const std::vector<float> values = part.of(whole);
    ASSERT_EQ(values.size(), static_cast<std::size_t>(2 * range.count() * 3));
    EXPECT_EQ(values[0], static_cast<float>(3 * range.begin));
    part.put(values, again);
  }
  EXPECT_EQ(again, whole);
}

TEST(Cut, IsOneStageWhereNothingIsSplit) {
  Chain chain = {{3, {8, 8}},
                 {{Kind::kConvolution, "conv", 16, 3, 1, 1, true},
                  {Kind::kMaxPool, "pool", 0, 2, 2},
                  {Kind::kFullyConnected, "fc1", 10, 1, 1, 0, true},
                  {Kind::kFullyConnected, "fc2", 5}}};
  const std::vector<Stage> stages = parallel::cut(chain, {{{}, {}, {}}, {}}, 1, 4);
  // A flattened image begins a stage.
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].name, "conv, pool");
  EXPECT_EQ(stages[1].name, "fc1, fc2");
  EXPECT_EQ(stages[1].in.channels, 16);
  EXPECT_EQ(stages[1].in.points, 16);
  EXPECT_EQ(stages[1].network.parameters().size(), 4u);
}

TEST(Cut, EndsStagesWithPartialSums) {
  const Chain chain = parallel::perceptron({6, 5, 4, 3});
  const ChainDistribution distribution = {{split_by(2), split_by(2), {}}, {}};
  const std::vector<Stage> stages = parallel::cut(chain, distribution, 3, 4);
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_TRUE(stages[0].gives_partial_sums);
  EXPECT_TRUE(stages[1].gives_partial_sums);
  EXPECT_FALSE(stages[2].gives_partial_sums);
  EXPECT_EQ(stages[0].parts[0].whole.shape, (std::vector<std::int64_t>{5, 6}));
  EXPECT_EQ(stages[0].parts[0].range, (parallel::Range{3, 6}));
  EXPECT_EQ(stages[1].parts[0].whole.name, "fc1.bias");  // behind the sums
  EXPECT_EQ(stages[1].parts[0].range, (parallel::Range{3, 5}));
  const auto edges = parallel::edges_of(stages, {}, 8);
  ASSERT_EQ(edges.size(), 4u);
  EXPECT_EQ(edges[0].to, split_by(2));
  EXPECT_TRUE(edges[2].has_partial_sums);
  EXPECT_EQ(edges[3].to, parallel::Distribution());
}

}  // namespace
