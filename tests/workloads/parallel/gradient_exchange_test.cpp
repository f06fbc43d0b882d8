// Tests of sums of gradients, piece by piece, on any layout of nodes.
#include "workloads/parallel/gradient_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/node_memory.h"
#include "workloads/parallel/nodes.h"

namespace {

INSTANTIATE_TEST_SUITE_P(Layouts, Nodes, kLayouts, [](const auto& layout) { return layout.param; });

/// Over all steps, sums and rests are what was given: exactly, as all numbers are whole, or nearly.
void expect_nothing_lost(const runner::Communicator& node, const parallel::GradientTravel& travel) {
  const runner::Communicator world = runner::Communicator::world();
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  constexpr std::size_t kFloats = 1000;
  parallel::NodeMemory memory(node);
  const std::span<float> gradients = memory.own_block(kFloats);
  parallel::GradientExchange exchange(world, node, telemetry, memory.blocks_of_all(), travel,
                                      base::usable_instruction_set());
  std::vector<double> given(kFloats), applied(kFloats);
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < kFloats; ++i) {
      const std::size_t number =
          (i * 7919 + step * 31 + static_cast<std::size_t>(world.rank())) % 99;
      gradients[i] = static_cast<float>(number) - 49.0F;
      given[i] += double{gradients[i]};
    }
    exchange.begin();
    exchange.gradients_ready(350);
    exchange.gradients_ready(999);
    exchange.finish();
    memory.publish();
    const std::vector<float> sums = exchange.sums();
    for (std::size_t i = 0; i < kFloats; ++i) applied[i] += double{sums[i]};
    memory.publish();
  }
  world.allreduce_sum(std::span(given));
  EXPECT_EQ(exchange.keeps_rest(), travel.keeps_rest() && exchange.is_between_nodes());
  std::vector<double> rest(kFloats);
  if (node.rank() == 0 && exchange.keeps_rest()) {
    const std::vector<float> mine = exchange.rest(0, kFloats);
    std::copy(mine.begin(), mine.end(), rest.begin());
  }
  world.allreduce_sum(std::span(rest));
  const double bound = travel.payload == parallel::GradientPayload::kInt8 ? 1e-3 : 0.0;
  double left = 0.0, learned = 0.0;
  for (std::size_t i = 0; i < kFloats; ++i) {
    ASSERT_NEAR(applied[i] + rest[i], given[i], bound) << i;
    left += std::abs(rest[i]);
    learned += std::abs(applied[i]);
  }
  // Sums that never sent would lose nothing either.
  EXPECT_GT(learned, travel.payload == parallel::GradientPayload::kTopK ? 0.0 : 5.0 * left);
}

TEST_P(Nodes, LoseNothingWhateverTravels) {
  const runner::Communicator node = nodes_of(runner::Communicator::world());
  for (const parallel::GradientPayload payload : parallel::kGradientPayloads) {
    for (const std::int64_t piece : {1, 7, 100, 5000}) {
      SCOPED_TRACE(parallel::to_string(payload));
      expect_nothing_lost(node, {.payload = payload, .density = 0.03, .piece_floats = piece});
    }
  }
}

TEST_P(Nodes, TakeARestAndGiveItBack) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  parallel::NodeMemory memory(node);
  memory.own_block(1000);
  parallel::GradientExchange exchange(
      world, node, telemetry, memory.blocks_of_all(),
      {.payload = parallel::GradientPayload::kTopK, .piece_floats = 48});
  std::vector<float> rest(1000);
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = static_cast<float>(i);
  if (!exchange.keeps_rest()) return;
  if (node.rank() == 0) {
    exchange.set_rest(0, std::span(rest).first(701));
    exchange.set_rest(701, std::span(rest).subspan(701));
  }
  memory.publish();
  EXPECT_EQ(exchange.rest(0, 1000), rest);
  EXPECT_EQ(exchange.rest(47, 3), (std::vector<float>{47.0F, 48.0F, 49.0F}));
  int nodes = 0;
  for (int rank = 0; rank < world.size(); ++rank) {
    std::array<int, 2> here = {node.rank() == 0 ? 1 : 0, exchange.node_index()};
    world.broadcast(std::as_writable_bytes(std::span(here)), rank);
    if (here[0] == 1) {
      EXPECT_EQ(here[1], nodes++) << "in the order of first ranks";
    }
  }
  EXPECT_EQ(exchange.nodes(), nodes);
}

TEST_P(Nodes, SumPiecesOfAnySize) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  for (const std::int64_t piece : {1, 7, 100, 5000}) {
    parallel::NodeMemory memory(node);
    const std::span<float> gradients = memory.own_block(1000);
    parallel::GradientExchange exchange(world, node, telemetry, memory.blocks_of_all(),
                                        {.piece_floats = piece});
    for (const float step : {1.0F, 2.0F, 3.0F}) {
      for (std::size_t i = 0; i < gradients.size(); ++i)
        gradients[i] = step * static_cast<float>(i) + static_cast<float>(world.rank());
      exchange.begin();
      exchange.gradients_ready(350);
      exchange.gradients_ready(350);
      exchange.gradients_ready(999);
      exchange.finish();
      memory.publish();
      const std::vector<float> sums = exchange.sums();
      const auto ranks = static_cast<float>(world.size());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(sums[i], step * static_cast<float>(i) * ranks + ranks * (ranks - 1.0F) / 2.0F)
            << piece;
      }
      memory.publish();
    }
  }
}

/// Waited for in parts from the last on, as the next forward pass does.
TEST_P(Nodes, SumTheLastPiecesFirst) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  constexpr std::int64_t kFloats = 700'000, kPiece = 49'152, kPart = 100'000;
  parallel::NodeMemory memory(node);
  const std::span<float> gradients = memory.own_block(kFloats);
  parallel::GradientExchange exchange(world, node, telemetry, memory.blocks_of_all(),
                                      {.late_update = true, .piece_floats = kPiece});
  for (const float step : {1.0F, 2.0F}) {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i] = step * static_cast<float>(i % 1000) + static_cast<float>(world.rank());
    exchange.begin();
    for (std::int64_t ready = kPart; ready < kFloats; ready += kPart)
      exchange.gradients_ready(ready);
    exchange.close();
    const auto ranks = static_cast<float>(world.size());
    for (std::int64_t end = kFloats; end > 0; end -= kPart) {
      exchange.wait(end - kPart, end);
      for (std::int64_t i = end - kPart; i < end; ++i) {
        if (!exchange.is_mine(i)) continue;
        ASSERT_EQ(gradients[static_cast<std::size_t>(i)],
                  step * static_cast<float>(i % 1000) * ranks + ranks * (ranks - 1.0F) / 2.0F)
            << i;
      }
    }
    memory.publish();
  }
}

/// Values of which the order of adding decides the last bits: ranks of a node first, in their
/// order, then nodes.
TEST_P(Nodes, SumTheSameBitsInPiecesOfAnySize) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  constexpr std::int64_t kFloats = 100'000;
  parallel::NodeMemory memory(node);
  const std::span<float> gradients = memory.own_block(kFloats);
  parallel::GradientExchange exchange(world, node, telemetry, memory.blocks_of_all(), {});
  const std::int64_t usual = exchange.cut().floats;
  std::vector<float> expected;
  for (const std::int64_t piece : {usual, std::int64_t{4096}, std::int64_t{40'960}, usual}) {
    exchange.set_cut({piece, piece != 4096});
    EXPECT_EQ(exchange.round_floats() % piece, 0);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::size_t mixed = i % 977 + static_cast<std::size_t>(world.rank()) * 13;
      gradients[i] = 1.0F / static_cast<float>(3 + mixed);
    }
    exchange.begin();
    exchange.gradients_ready(kFloats / 2);
    exchange.finish();
    memory.publish();
    const std::vector<float> sums = exchange.sums();
    if (expected.empty()) expected = sums;
    ASSERT_EQ(sums, expected) << piece;
    memory.publish();
  }
}

TEST_P(Nodes, GiveEachNodeAsMuchOfDividedPiecesOfAnySize) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  parallel::NodeMemory memory(node);
  memory.own_block(32 * 8 * nn::kUpdateCell);
  const parallel::GradientExchange exchange(
      world, node, telemetry, memory.blocks_of_all(),
      {.divided_update = true, .piece_floats = nn::kUpdateCell});
  if (!exchange.divides_updates()) return;
  std::int64_t here = 0;
  for (std::int64_t cell = 0; cell < 32 * 8; ++cell) {
    here += exchange.is_here(cell * nn::kUpdateCell) ? 1 : 0;
  }
  // The last piece may be shorter.
  EXPECT_NEAR(static_cast<double>(here), 32.0 * 8.0 / exchange.nodes(), 1.0);
}

TEST_P(Nodes, KeepPiecesThatOwnersKeepSomethingOf) {
  const runner::Communicator world = runner::Communicator::world();
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const runner::Communicator node = nodes_of(world);
  parallel::NodeMemory memory(node);
  memory.own_block(100'000);
  parallel::GradientExchange narrow(world, node, telemetry, memory.blocks_of_all(),
                                    {.payload = parallel::GradientPayload::kInt8});
  EXPECT_THROW(narrow.set_cut({nn::kUpdateCell, true}), base::Error);
  parallel::GradientExchange exact(world, node, telemetry, memory.blocks_of_all(), {});
  for (const std::int64_t floats : {std::int64_t{0}, nn::kUpdateCell + 1}) {
    EXPECT_THROW(exact.set_cut({floats, true}), base::Error);
  }
}

TEST_P(Nodes, TryPiecesOnlyOfFloatsThatAllNodesSum) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  for (const parallel::GradientTravel& travel :
       {parallel::GradientTravel{}, parallel::GradientTravel{.divided_update = true},
        parallel::GradientTravel{.payload = parallel::GradientPayload::kInt8}}) {
    parallel::NodeMemory memory(node);
    memory.own_block(20'000'000);
    const parallel::GradientExchange exchange(world, node, telemetry, memory.blocks_of_all(),
                                              travel);
    const bool is_tried =
        exchange.is_between_nodes() && travel.is_exact() && !travel.divided_update;
    EXPECT_EQ(exchange.cuts_to_try().size() > 1, is_tried);
    EXPECT_EQ(exchange.cuts_to_try().front(), exchange.cut());
  }
}

}  // namespace
