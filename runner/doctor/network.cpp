// Ping-pong between neighbours, the ring, and sums.
#include "runner/doctor/network.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>

#include "runner/base/clock.h"
#include "runner/clock_offsets.h"
#include "runner/exact_terms.h"

namespace doctor {
namespace {

using runner::Communicator;
using runner::Topology;

constexpr std::int64_t kSmall = 8;
/// Gradients are usually sent in pieces of at most 4 MiB.
constexpr std::int64_t kGradientPiece = std::int64_t{4} << 20;
constexpr std::int64_t kMostSummed = std::int64_t{64} << 20;
constexpr int kSmallMessageRepetitions = 50, kMessageRepetitions = 3;
/// Sizes grow until a message takes this long.
constexpr double kLongMessageS = 1.0;

double seconds_of(const std::function<void()>& work) {
  const base::SystemClock clock;
  const std::int64_t begin = clock.steady_ns();
  work();
  return static_cast<double>(std::max<std::int64_t>(clock.steady_ns() - begin, 1)) / 1e9;
}

/// Whether the node `left` talks to its right neighbour in a phase, chosen so that each rank has
/// one partner at a time. `phase` 0: even ranks; 1: odd ranks; 2: the last of an odd number of
/// ranks.
bool speaks(int left, int ranks, int phase) {
  if (ranks % 2 == 1 && left == ranks - 1) return phase == 2;
  return left % 2 == phase;
}

/// Half of each round trip in seconds, shortest first; call it on both ends.
std::vector<double> ping_pong(const Communicator& leaders, int partner, bool begins,
                              std::span<std::byte> bytes, int repetitions) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    times.push_back(0.5 * seconds_of([&] {
                      if (begins) leaders.send(bytes, partner);
                      leaders.receive(bytes, partner);
                      if (!begins) leaders.send(bytes, partner);
                    }));
  }
  std::ranges::sort(times);
  return times;
}

/// Exchanges one message size between all neighbours, phase by phase; returns ping_pong() with the
/// right one.
std::vector<double> to_the_right(const Communicator& leaders, std::span<std::byte> bytes,
                                 int repetitions) {
  const int ranks = leaders.size(), mine = leaders.rank();
  const int right = (mine + 1) % ranks, left = (mine + ranks - 1) % ranks;
  std::vector<double> found;
  for (int phase = 0; phase < 3; ++phase) {
    leaders.barrier();
    if (speaks(mine, ranks, phase)) {
      found = ping_pong(leaders, right, true, bytes, repetitions);
    } else if (speaks(left, ranks, phase)) {
      ping_pong(leaders, left, false, bytes, repetitions);
    }
  }
  return found;
}

std::vector<Link> links_between(const Communicator& leaders) {
  std::vector<std::byte> bytes(kGradientPiece);
  const std::vector<double> latencies =
      to_the_right(leaders, std::span(bytes).first(kSmall), kSmallMessageRepetitions);
  const double latency = latencies[latencies.size() / 2];
  double rate = 0.0;
  std::int64_t used = kSmall;
  for (std::int64_t size = std::int64_t{64} << 10; size <= kGradientPiece; size *= 8) {
    const auto message = std::span(bytes).first(static_cast<std::size_t>(size));
    const double seconds = to_the_right(leaders, message, kMessageRepetitions).front();
    rate = static_cast<double>(size) / seconds;
    used = size;
    if (leaders.allreduce_max(seconds) * 8.0 > kLongMessageS) break;
  }
  // Nanoseconds and bytes per second, as integers.
  const std::array<std::int64_t, 3> mine = {static_cast<std::int64_t>(latency * 1e9),
                                            static_cast<std::int64_t>(rate), used};
  const auto all = leaders.gather(std::span<const std::int64_t>(mine), 0);
  std::vector<Link> links;
  const int nodes = leaders.size();
  // With two nodes, both ends have measured the same link.
  for (int left = 0; leaders.rank() == 0 && left < (nodes == 2 ? 1 : nodes); ++left) {
    const std::int64_t* const of = all.data() + 3 * static_cast<std::ptrdiff_t>(left);
    links.push_back({left, (left + 1) % nodes, static_cast<double>(of[0]) / 1e9,
                     static_cast<double>(of[1]), of[2]});
  }
  return links;
}

/// The best of a few repetitions, each timed on the slowest rank.
double best_of_few(const Communicator& world, const std::function<void()>& work) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kMessageRepetitions; ++i) {
    world.barrier();
    best = std::min(best, world.allreduce_max(seconds_of(work)));
    if (best > kLongMessageS) break;
  }
  return best;
}

std::vector<Collective> measure_rings(const Communicator& leaders) {
  const auto ranks = static_cast<std::size_t>(leaders.size());
  const auto mine = static_cast<std::size_t>(leaders.rank());
  std::vector<std::byte> sent(kGradientPiece), received(kGradientPiece);
  std::vector<Collective> rings;
  for (std::int64_t size = std::int64_t{64} << 10; size <= kGradientPiece; size *= 8) {
    std::vector<std::int64_t> out(ranks), in(ranks);
    out[(mine + 1) % ranks] = size;
    in[(mine + ranks - 1) % ranks] = size;
    const runner::RankParts to{out, std::vector<std::int64_t>(ranks)};
    const runner::RankParts from{in, std::vector<std::int64_t>(ranks)};
    const double seconds =
        best_of_few(leaders, [&] { leaders.start_alltoall(sent, to, received, from).wait(); });
    rings.push_back({size, seconds});
    if (seconds * 8.0 > kLongMessageS) break;
  }
  return rings;
}

bool sum_is_exact(const Communicator& world, std::span<float> data) {
  const runner::ExactTerms terms(world.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = runner::ExactTerms::of(world.rank(), i);
  }
  world.allreduce_sum(data);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != terms.sum(i)) return false;
  }
  return true;
}

std::vector<Collective> measure_sums(const Communicator& world, std::int64_t gradient_bytes) {
  constexpr std::int64_t kFloat = sizeof(float);
  std::vector<std::int64_t> sizes = {kFloat, std::int64_t{64} << 10, kGradientPiece};
  const std::int64_t whole = std::min(gradient_bytes, kMostSummed) / kFloat * kFloat;
  if (whole > 0) sizes.push_back(whole);
  std::ranges::sort(sizes);
  std::vector<Collective> sums;
  std::vector<float> data(static_cast<std::size_t>(sizes.back() / kFloat));
  for (const std::int64_t size : sizes) {
    if (!sums.empty() && sums.back().bytes == size) continue;
    const auto part = std::span(data).first(static_cast<std::size_t>(size / kFloat));
    Collective sum{size};
    sum.is_exact = world.allreduce_min(std::int64_t{sum_is_exact(world, part) ? 1 : 0}) == 1;
    sum.seconds = best_of_few(world, [&] { world.allreduce_sum(part); });
    sums.push_back(sum);
    if (sum.seconds > kLongMessageS) break;
  }
  return sums;
}

/// Collective. Calls `work` on the first rank of each of several nodes, while the others wait.
void among_leaders(const Communicator& world, const Topology& topology,
                   const std::function<void(const Communicator& leaders)>& work) {
  if (topology.node_count == 1) return;
  const Communicator leaders = world.split(topology.is_node_leader() ? 0 : -1, world.rank());
  if (topology.is_node_leader()) work(leaders);
  world.barrier();
}

/// A clock whose steady_ns() is the calendar time.
class Calendar final : public base::Clock {
 public:
  std::int64_t steady_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  std::int64_t unix_ms() const override { return steady_ns() / 1'000'000; }
};

}  // namespace

std::vector<Link> measure_links(const Communicator& world, const Topology& topology) {
  std::vector<Link> links;
  among_leaders(world, topology,
                [&](const Communicator& leaders) { links = links_between(leaders); });
  return links;
}

NetworkTimes measure_network(const Communicator& world, const Topology& topology,
                             std::int64_t gradient_bytes) {
  NetworkTimes times;
  among_leaders(world, topology, [&](const Communicator& leaders) {
    times.links = links_between(leaders);
    times.rings = measure_rings(leaders);
  });
  if (world.size() > 1) times.sums = measure_sums(world, gradient_bytes);
  return times;
}

std::vector<double> calendar_offsets_s(const Communicator& world, const Topology& topology) {
  const Calendar calendar;
  const auto offset = runner::measure_clock_offset(world, topology, calendar);
  const std::array<std::int64_t, 1> mine = {offset.offset_ns};
  const auto all = world.gather(std::span<const std::int64_t>(mine), 0);
  std::vector<double> by_node(static_cast<std::size_t>(topology.node_count));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    // A node's offset is what must be added to its clock to get rank 0's.
    by_node[static_cast<std::size_t>(topology.node_of_rank[rank])] =
        -static_cast<double>(all[rank]) / 1e9;
  }
  return by_node;
}

}  // namespace doctor
