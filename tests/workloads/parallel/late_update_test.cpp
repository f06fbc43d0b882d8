// Tests that updates which wait for the next forward pass give the bits of those that do not.
#include "workloads/parallel/late_update.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/progress_thread.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/parallel/nodes.h"
#include "workloads/parallel/trial.h"

namespace {

using MakeOptimizer = std::unique_ptr<nn::Optimizer> (*)();
struct Kind {
  const char* name;
  MakeOptimizer make;
  bool is_late;  ///< between nodes
};
const Kind kKinds[] = {
    {"sgd", [] { return nn::make_sgd({.momentum = 0.9, .weight_decay = 1e-4}); }, true},
    {"lars", [] { return make_lars(); }, true},
    {"adam", [] { return nn::make_adam({.weight_decay = 1e-3}); }, true},
    {"adagrad", [] { return nn::make_adagrad({}); }, true},
    {"lamb", [] { return nn::make_lamb({.max_gradient_norm = 0.0}); }, true},
    {"limited_lamb", [] { return nn::make_lamb({.max_gradient_norm = 0.5}); }, false},
};

/// Its weights have several pieces on any layout of up to 8 ranks.
nn::Network wide_network() {
  const nn::Initializer weights = {nn::Distribution::kTruncatedNormal, 0.1, 0.0};
  const nn::Padding one = nn::uniform_padding(2, 1, 1);
  nn::Network net;
  auto x = net.input({3, {16, 16}});
  x = net.batch_norm(net.convolution(x, {"conv1", 64, 3, 4, one, weights}), {"bn1"});
  x = net.batch_norm(net.convolution(x, {"conv2", 512, 3, 2, one, weights}), {"bn2"});
  x = net.batch_norm(net.convolution(x, {"conv3", 256, 1, 1, {}, weights}), {"bn3"});
  net.fully_connected(net.global_average_pool(x), {"fc", kClasses, weights, {}});
  return net;
}

std::unique_ptr<Trial> trial(const runner::Communicator& world, runner::Communicator node,
                             const Kind& kind, std::int64_t accumulation,
                             parallel::GradientTravel gradients) {
  // Not both, to save time.
  nn::Network network = accumulation == 1 ? wide_network() : small_network();
  return std::make_unique<Trial>(world, std::move(node), kind.make(), 6, accumulation, kGlobalBatch,
                                 nn::Mode::kTraining, std::move(network),
                                 nn::Recompute::kNormalizations, gradients);
}

TEST_P(Nodes, GiveTheSameBitsWhenUpdatesWaitForTheNextPass) {
  const runner::Communicator world = runner::Communicator::world();
  const bool is_divided =
      world.allreduce_max(std::int64_t{nodes_of(world).size() < world.size() ? 1 : 0}) > 0;
  for (const Kind& kind : kKinds) {
    for (const std::int64_t accumulation : {1, 2}) {
      SCOPED_TRACE(std::string(kind.name) + ", passes of a step: " + std::to_string(accumulation));
      const auto late = trial(world, nodes_of(world), kind, accumulation, {.late_update = true});
      const auto at_once =
          trial(world, nodes_of(world), kind, accumulation, {.late_update = false});
      for (int step = 0; step < 4; ++step) {
        late->begin_step(0.01);
        at_once->begin_step(0.01);
        ASSERT_EQ(late->outputs(), at_once->outputs()) << "step " << step;
      }
      EXPECT_EQ(late->model().is_updating(), is_divided && kind.is_late);
      EXPECT_FALSE(at_once->model().is_updating());
      late->model().finish_update();
      ASSERT_EQ(late->model().replica_hash(), at_once->model().replica_hash());
      EXPECT_FALSE(late->model().is_updating());
    }
  }
}

/// Each node updates a part of the weights.
TEST_P(Nodes, GiveTheSameBitsWhenNodesDivideUpdates) {
  const runner::Communicator world = runner::Communicator::world();
  for (const Kind& kind : kKinds) {
    // Without late updates a network of few cells, of which some nodes get none.
    for (const bool is_late : {true, false}) {
      SCOPED_TRACE(std::string(kind.name) + (is_late ? ", late" : ", at once"));
      const std::int64_t passes = is_late ? 1 : 2;
      const auto divided = trial(world, nodes_of(world), kind, passes,
                                 {.divided_update = true, .late_update = is_late});
      const auto whole = trial(world, nodes_of(world), kind, passes, {.late_update = is_late});
      for (int step = 0; step < 4; ++step) {
        divided->begin_step(0.01);
        whole->begin_step(0.01);
        ASSERT_EQ(divided->outputs(), whole->outputs()) << "step " << step;
      }
      EXPECT_EQ(divided->model().is_updating(), divided->nodes() > 1 && is_late);
      divided->model().finish_update();
      const std::uint64_t learned = divided->model().replica_hash();
      const auto hash = static_cast<std::int64_t>(learned >> 1U);
      EXPECT_EQ(world.allreduce_min(hash), world.allreduce_max(hash))
          << "all have the same weights";
      for (int repetition = 0; repetition < 2; ++repetition) divided->model().exchange_alone();
      EXPECT_EQ(divided->model().replica_hash(), learned);
    }
  }
}

/// The first steps try pieces of two sizes or more, and in order.
TEST_P(Nodes, GiveTheSameBitsWhileTheyTryPieces) {
  const runner::Communicator world = runner::Communicator::world();
  const auto trying = trial(world, nodes_of(world), kKinds[1], 1, {.tries_pieces = true});
  const auto whole = trial(world, nodes_of(world), kKinds[1], 1, {});
  constexpr int kSteps = 20;
  for (int step = 0; step < kSteps; ++step) {
    trying->begin_step(0.01);
    whole->begin_step(0.01);
    ASSERT_EQ(trying->outputs(), whole->outputs()) << "step " << step;
  }
  const auto told = trying->telemetry().to_json().at("gradient_pieces");
  EXPECT_EQ(told.size() > 1, trying->nodes() > 1) << told;
  int kept = 0;
  for (const auto& piece : told) {
    kept += piece.at("is_kept").get<bool>() ? 1 : 0;
    EXPECT_GT(piece.at("step_s").get<double>(), 0.0);
    EXPECT_EQ(piece.at("bytes").get<std::int64_t>() % 16384, 0);
  }
  EXPECT_EQ(kept, trying->nodes() > 1 ? 1 : 0);
  EXPECT_TRUE(whole->telemetry().to_json().at("gradient_pieces").empty());
}

TEST_P(Nodes, WaitAtOnceForSumsInBfloat16) {
  const runner::Communicator world = runner::Communicator::world();
  const auto narrow =
      trial(world, nodes_of(world), kKinds[0], 1, {.payload = parallel::GradientPayload::kBf16});
  narrow->begin_step(0.01);
  EXPECT_FALSE(narrow->model().is_updating());
}

TEST_P(Nodes, GiveTheSameBitsBesideAProgressThread) {
  const runner::Communicator world = runner::Communicator::world();
  const parallel::GradientTravel kTravels[] = {
      {.late_update = true},
      {.late_update = false},
      {.divided_update = true},
      {.payload = parallel::GradientPayload::kInt8},
      {.payload = parallel::GradientPayload::kTopK},
  };
  for (const parallel::GradientTravel& travel : kTravels) {
    SCOPED_TRACE(std::string(to_string(travel.payload)) + (travel.late_update ? ", late" : "") +
                 (travel.divided_update ? ", divided" : ""));
    std::vector<std::uint64_t> learned;
    for (const bool has_thread : {false, true}) {
      std::optional<runner::ProgressThread> thread;
      if (has_thread) thread.emplace(world, std::vector<int>(), false);
      const auto one = trial(world, nodes_of(world), kKinds[0], 1, travel);
      for (int step = 0; step < 3; ++step) one->begin_step(0.01);
      one->model().finish_update();
      learned.push_back(one->model().replica_hash());
    }
    EXPECT_EQ(learned.front(), learned.back());
  }
}

/// As where a run has diverged.
TEST_P(Nodes, MayEndBeforeTheUpdateThatWaits) {
  const runner::Communicator world = runner::Communicator::world();
  const auto left = trial(world, nodes_of(world), kKinds[0], 1, {});
  left->begin_step(0.01);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Nodes, kLayouts, [](const auto& layout) { return layout.param; });

}  // namespace
