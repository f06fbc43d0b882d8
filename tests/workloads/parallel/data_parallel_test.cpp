// Tests that several ranks train as one rank does: same forward bits, same gradients, same
// replicas.
#include "workloads/parallel/data_parallel.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/parallel/nodes.h"
#include "workloads/parallel/trial.h"

namespace {

class Groups : public testing::TestWithParam<std::int64_t> {};

TEST_P(Groups, GiveTheBitsOfOneRankForwardAndItsGradients) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator alone = world.split(-1, 0);
  Trial many(world, GetParam(), 1), one(alone, GetParam(), 1);
  many.step(0.0);
  one.step(0.0);
  const std::int64_t first = many.model().split().slot(world.rank(), 0, 0);
  for (std::size_t i = 0; i < many.outputs().size(); ++i) {
    ASSERT_EQ(many.outputs()[i], one.outputs()[i + static_cast<std::size_t>(first * kClasses)])
        << "sample " << first + static_cast<std::int64_t>(i) / kClasses;
  }
  // The same products, summed over samples in a different order.
  EXPECT_LT(relative_l2(many.gradients(), one.gradients()), 1e-5);
  many.model().synchronize_statistics();
  one.model().synchronize_statistics();
  for (int s = 0; s < 3; ++s) {
    const auto a = many.model().executor().statistics().variance(s);
    const auto b = one.model().executor().statistics().variance(s);
    for (std::size_t c = 0; c < a.size(); ++c)
      EXPECT_NEAR(a[c], b[c], 1e-12 * (1.0 + std::abs(b[c])));
  }
}

// Groups within ranks, groups across ranks, and one group of all samples; for 1, 2, 3, 4 and 8
// ranks.
INSTANTIATE_TEST_SUITE_P(Sizes, Groups, testing::Values(1, 6, 8, 16, 48));

TEST(DataParallel, KeepsReplicasBitIdentical) {
  const runner::Communicator world = runner::Communicator::world();
  Trial trial(world, 6, 1);
  for (int i = 0; i < 5; ++i) trial.step(0.1);
  const auto hash =
      static_cast<std::int64_t>(trial.model().executor().parameters().weights_hash() >> 1U);
  EXPECT_EQ(world.allreduce_min(hash), world.allreduce_max(hash));
}

TEST(DataParallel, GivesTheSameBitsAgain) {
  const runner::Communicator world = runner::Communicator::world();
  Trial first(world, 6, 1), second(world, 6, 1);
  for (int i = 0; i < 3; ++i) {
    first.step(0.1);
    second.step(0.1);
  }
  EXPECT_EQ(first.model().executor().parameters().weights_hash(),
            second.model().executor().parameters().weights_hash());
}

TEST_P(Nodes, ShareTheStepOfOneRank) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator alone = world.split(-1, 0);
  Trial many(world, nodes_of(world), make_lars()), one(alone, alone.split_node(), make_lars());
  const std::vector<float> before(one.weights().begin(), one.weights().end());
  many.step(10.0);
  one.step(10.0);
  EXPECT_LT(relative_l2(many.gradients(), one.gradients()), 1e-5);
  std::vector<float> update_of_many, update_of_one;
  for (std::size_t i = 0; i < before.size(); ++i) {
    update_of_many.push_back(many.weights()[i] - before[i]);
    update_of_one.push_back(one.weights()[i] - before[i]);
  }
  EXPECT_LT(relative_l2(update_of_many, update_of_one), 1e-4);
  world.barrier();  // other ranks still read the shared weights
  for (int i = 0; i < 4; ++i) many.step(10.0);
  const auto hash =
      static_cast<std::int64_t>(many.model().executor().parameters().weights_hash() >> 1U);
  EXPECT_EQ(world.allreduce_min(hash), world.allreduce_max(hash));
  EXPECT_FALSE(std::equal(before.begin(), before.end(), many.weights().begin()));
}

/// LAMB also shares norms of gradients and of update directions, and two buffers of state.
TEST_P(Nodes, ShareTheStepsOfLamb) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator alone = world.split(-1, 0);
  // A small epsilon would amplify rounding errors of small gradients.
  const nn::LambConfig config = {.epsilon = 0.1, .max_gradient_norm = 0.5};
  Trial many(world, nodes_of(world), nn::make_lamb(config));
  Trial one(alone, alone.split_node(), nn::make_lamb(config));
  const std::vector<float> before(one.weights().begin(), one.weights().end());
  for (int i = 0; i < 3; ++i) {
    many.step(0.01);
    one.step(0.01);
  }
  world.barrier();  // the weights compared below are shared
  std::vector<float> update_of_many, update_of_one;
  for (std::size_t i = 0; i < before.size(); ++i) {
    update_of_many.push_back(many.weights()[i] - before[i]);
    update_of_one.push_back(one.weights()[i] - before[i]);
  }
  EXPECT_LT(relative_l2(update_of_many, update_of_one), 1e-3);
  const auto hash =
      static_cast<std::int64_t>(many.model().executor().parameters().weights_hash() >> 1U);
  EXPECT_EQ(world.allreduce_min(hash), world.allreduce_max(hash));
}

TEST_P(Nodes, GiveTheSameBitsAgain) {
  const runner::Communicator world = runner::Communicator::world();
  Trial first(world, nodes_of(world), make_lars()), second(world, nodes_of(world), make_lars());
  for (int i = 0; i < 3; ++i) {
    first.step(10.0);
    second.step(10.0);
  }
  EXPECT_EQ(first.model().executor().parameters().weights_hash(),
            second.model().executor().parameters().weights_hash());
}

INSTANTIATE_TEST_SUITE_P(Layouts, Nodes, kLayouts, [](const auto& layout) { return layout.param; });

/// Expects the same gradients from all ranks together as from each rank alone.
void expect_equal_steps(const runner::Communicator& world, Trial& many, Trial& one) {
  for (int i = 0; i < 3; ++i) {
    many.step(1.0);
    one.step(1.0);
    EXPECT_LT(relative_l2(many.gradients(), one.gradients()), 1e-4) << "step " << i;
    world.barrier();  // the compared gradients are shared
  }
}

/// 8 x 8 pixels are 4 Winograd tiles. A rank with 16 samples has enough tiles for Winograd's
/// gradients, a rank with 15 has not, so that ranks need the weights in different layouts.
TEST(DataParallel, LetsRanksOfANodeChooseTheirGradients) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator alone = world.split(-1, 0);
  const auto network = [] {
    const nn::Initializer small = {nn::Distribution::kNormal, 0.2, 0.0};
    nn::Network net;
    const nn::Padding one = nn::uniform_padding(2, 1, 1);
    auto x = net.input({3, {8, 8}});
    x = net.batch_norm(net.convolution(x, {"conv1", 32, 3, 1, one, small}), {"bn1"});
    x = net.batch_norm(net.convolution(x, {"conv2", 32, 3, 1, one, small}), {"bn2"});
    net.fully_connected(net.global_average_pool(x), {"fc", kClasses, small, small});
    return net;
  };
  const std::int64_t batch = 15 * world.size() + 1;
  Trial many(world, world.split_node(), make_lars(), 1, 1, batch, nn::Mode::kTraining, network());
  Trial one(alone, alone.split_node(), make_lars(), 1, 1, batch, nn::Mode::kTraining, network());
  expect_equal_steps(world, many, one);
}

/// Recomputing blocks on several ranks in two passes, with batch-norm groups across ranks or with
/// running statistics, gives the gradients of one rank that recomputes nothing.
TEST(DataParallel, MakesBlocksAgainOnAnyNumberOfRanks) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator alone = world.split(-1, 0);
  for (const nn::Mode mode : {nn::Mode::kTraining, nn::Mode::kFrozenStatistics}) {
    Trial many(world, world.split_node(), make_lars(), 24, 2, kGlobalBatch, mode, small_network(),
               nn::Recompute::kBlocks);
    Trial one(alone, alone.split_node(), make_lars(), 24, 2, kGlobalBatch, mode, small_network(),
              nn::Recompute::kNone);
    expect_equal_steps(world, many, one);
  }
}

TEST(DataParallel, AccumulatesPassesToTheSameStep) {
  const runner::Communicator world = runner::Communicator::world();
  Trial whole(world, 6, 1), parts(world, 6, 2);
  whole.step(0.0);
  parts.step(0.0);
  EXPECT_LT(relative_l2(parts.gradients(), whole.gradients()), 1e-5);
  whole.model().synchronize_statistics();
  parts.model().synchronize_statistics();
  const auto a = parts.model().executor().statistics().mean(0);
  const auto b = whole.model().executor().statistics().mean(0);
  for (std::size_t c = 0; c < a.size(); ++c) EXPECT_NEAR(a[c], b[c], 1e-9);
}

TEST(DataParallel, LeavesFrozenStatisticsAsTheyAre) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator alone = world.split(-1, 0);
  const nn::Mode frozen = nn::Mode::kFrozenStatistics;
  Trial many(world, 16, 1, kGlobalBatch, frozen), one(alone, 16, 1, kGlobalBatch, frozen);
  const std::vector<float> mean(16, 0.25F), variance(16, 2.0F);
  for (Trial* trial : {&many, &one}) {
    trial->model().executor().statistics().set(0, mean, variance);
    trial->step(0.0);
    trial->model().synchronize_statistics();
    EXPECT_EQ(trial->model().executor().statistics().mean(0)[3], 0.25);
    EXPECT_EQ(trial->model().executor().statistics().variance(0)[3], 2.0);
    EXPECT_EQ(trial->model().executor().statistics().variance(1)[3], 1.0);
  }
  EXPECT_LT(relative_l2(many.gradients(), one.gradients()), 1e-5);
}

TEST(DataParallel, CutsABatchUnevenly) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator alone = world.split(-1, 0);
  Trial many(world, 5, 1, 25), one(alone, 5, 1, 25);
  many.step(0.0);
  one.step(0.0);
  EXPECT_LT(relative_l2(many.gradients(), one.gradients()), 1e-5);
}

}  // namespace
