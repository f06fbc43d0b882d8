// Measures the offsets of clocks.
#include "runner/clock_offsets.h"

#include <vector>

namespace runner {
namespace {

/// Enough that the shortest round trip is undisturbed; all take a few milliseconds together.
constexpr int kRoundTrips = 40;

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Runs on rank 0.
telemetry::ClockOffset ask(const Communicator& world, const base::Clock& clock, int rank) {
  std::vector<telemetry::RoundTrip> trips(kRoundTrips);
  for (telemetry::RoundTrip& trip : trips) {
    trip.sent_ns = clock.steady_ns();
    world.send(bytes_of(trip.sent_ns), rank);
    world.receive(bytes_of(trip.there_ns), rank);
    trip.back_ns = clock.steady_ns();
  }
  return telemetry::estimate_offset(trips);
}

/// Runs on the rank that is asked.
void answer(const Communicator& world, const base::Clock& clock) {
  for (int i = 0; i < kRoundTrips; ++i) {
    std::int64_t asked_ns = 0;
    world.receive(bytes_of(asked_ns), 0);
    std::int64_t now_ns = clock.steady_ns();
    world.send(bytes_of(now_ns), 0);
  }
}

}  // namespace

telemetry::ClockOffset measure_clock_offset(const Communicator& world, const Topology& topology,
                                            const base::Clock& clock) {
  telemetry::ClockOffset mine;
  mine.there_ns = clock.steady_ns();
  int nodes = 1;  // seen so far; nodes are numbered in the order of their first ranks
  for (int leader = 1; leader < world.size(); ++leader) {
    if (topology.node_of_rank[static_cast<std::size_t>(leader)] != nodes) continue;
    ++nodes;
    if (world.rank() == 0) {
      telemetry::ClockOffset offset = ask(world, clock, leader);
      world.send(bytes_of(offset), leader);
    } else if (world.rank() == leader) {
      answer(world, clock);
      world.receive(bytes_of(mine), 0);
    }
  }
  topology.node.broadcast(bytes_of(mine), 0);
  return mine;
}

}  // namespace runner
