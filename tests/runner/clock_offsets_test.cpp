// Offsets of deliberately wrong clocks, on as many ranks as the launcher gives.
#include "runner/clock_offsets.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace runner {
namespace {

/// The machine's clock, off by `ahead_ns`.
class WrongClock final : public base::Clock {
 public:
  explicit WrongClock(std::int64_t ahead_ns) : ahead_ns_(ahead_ns) {}
  std::int64_t steady_ns() const override { return clock_.steady_ns() + ahead_ns_; }
  std::int64_t unix_ms() const override { return clock_.unix_ms(); }

 private:
  base::SystemClock clock_;
  std::int64_t ahead_ns_;
};

/// Pretends that every `node_size` consecutive ranks are a node.
Topology pretended(const Communicator& world, int node_size) {
  const int node = world.rank() / node_size;
  Topology topology{world.split(node, world.rank()), node, 0, {}};
  for (int rank = 0; rank < world.size(); ++rank) {
    topology.node_of_rank.push_back(rank / node_size);
    topology.node_count = rank / node_size + 1;
  }
  return topology;
}

TEST(ClockOffsets, OfOtherNodesAreFoundWithinTheirUncertainty) {
  const Communicator world = Communicator::world();
  for (const int node_size : {1, 2}) {
    const Topology topology = pretended(world, node_size);
    const std::int64_t ahead_ns = -3'600'000'000'000 * topology.node_index;
    const telemetry::ClockOffset offset =
        measure_clock_offset(world, topology, WrongClock(ahead_ns));
    EXPECT_LE(std::abs(offset.offset_ns + ahead_ns), offset.uncertainty_ns);
    EXPECT_LT(offset.uncertainty_ns, 1'000'000'000);
    if (topology.node_index == 0) {
      EXPECT_EQ(offset.uncertainty_ns, 0);
    } else {
      EXPECT_GT(offset.uncertainty_ns, 0);
    }
    EXPECT_NEAR(static_cast<double>(offset.there_ns),
                static_cast<double>(WrongClock(ahead_ns).steady_ns()), 60e9);
  }
}

TEST(ClockOffsets, AreNothingOnOneNode) {
  const Communicator world = Communicator::world();
  const Topology topology = discover_topology(world);
  const telemetry::ClockOffset offset = measure_clock_offset(world, topology, base::SystemClock());
  EXPECT_EQ(offset.offset_ns, 0);
  EXPECT_EQ(offset.uncertainty_ns, 0);
}

}  // namespace
}  // namespace runner
