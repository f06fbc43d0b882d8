// Tests of sums of gradients, piece by piece, on any layout of nodes.
#include "workloads/parallel/gradient_exchange.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/system_facts.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/parallel/node_memory.h"
#include "workloads/parallel/nodes.h"

namespace {

INSTANTIATE_TEST_SUITE_P(Layouts, Nodes, kLayouts, [](const auto& layout) { return layout.param; });

/// Bfloat16 has these numbers and their sums exactly.
TEST_P(Nodes, SumPiecesThatTravelAsBfloat16) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  for (const std::int64_t piece : {1, 7, 100, 5000}) {
    parallel::NodeMemory memory(node);
    const std::span<float> gradients = memory.own_block(1000);
    parallel::GradientExchange exchange(world, node, telemetry, memory.blocks_of_all(), piece,
                                        {.payload = nn::Precision::kBf16},
                                        base::usable_instruction_set());
    for (int step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        gradients[i] = static_cast<float>((i + static_cast<std::size_t>(step)) % 9);
      }
      exchange.begin();
      exchange.gradients_ready(350);
      exchange.gradients_ready(999);
      exchange.finish();
      memory.publish();
      const std::vector<float> sums = exchange.sums();
      for (std::size_t i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(sums[i], static_cast<float>((i + static_cast<std::size_t>(step)) % 9) *
                               static_cast<float>(world.size()));
      }
      memory.publish();
    }
  }
}

TEST_P(Nodes, SumPiecesOfAnySize) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  for (const std::int64_t piece : {1, 7, 100, 5000}) {
    parallel::NodeMemory memory(node);
    const std::span<float> gradients = memory.own_block(1000);
    parallel::GradientExchange exchange(world, node, telemetry, memory.blocks_of_all(), piece);
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

/// Pieces that are large enough for a ring, waited for in parts from the last on, as the next
/// forward pass does.
TEST_P(Nodes, SumTheLastPiecesFirst) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator node = nodes_of(world);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  constexpr std::int64_t kFloats = 700'000, kPiece = 49'152, kPart = 100'000;
  parallel::NodeMemory memory(node);
  const std::span<float> gradients = memory.own_block(kFloats);
  parallel::GradientExchange exchange(world, node, telemetry, memory.blocks_of_all(), kPiece,
                                      {.late_update = true});
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

}  // namespace
