// Tests of what gradients send between nodes: the formula, what telemetry counts, and the calls of
// MPI agree on every rank, whatever the nodes and the payload.
#include "workloads/parallel/gradient_volume.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "runner/base/clock.h"
#include "workloads/parallel/gradient_exchange.h"
#include "workloads/parallel/hybrid/counted_mpi.h"
#include "workloads/parallel/nodes.h"

namespace parallel {
namespace {

using runner::SentVolume;
using telemetry::Counter;

/// No multiple of blocks, cells, pieces or ranks.
constexpr std::int64_t kFloats = 100'003;

std::vector<GradientTravel> travels() {
  std::vector<GradientTravel> all = {{.divided_update = true}};
  for (const GradientPayload payload : kGradientPayloads) all.push_back({.payload = payload});
  return all;
}

class SentGradients : public Nodes {
 protected:
  OwnerGrid grid() const {
    std::map<std::int64_t, std::int64_t> sizes;
    for (const std::int64_t first : first_ranks()) ++sizes[first];
    std::vector<std::int64_t> in_order;
    for (const auto& [first, size] : sizes) in_order.push_back(size);
    return OwnerGrid::of(in_order);
  }
  /// Consecutive ranks share a node.
  std::vector<std::int64_t> first_ranks() const {
    const std::array<std::int64_t, 1> mine = {world_.rank() - node_.rank()};
    return world_.allgather(mine);
  }
  std::int64_t node_index() const {
    const std::vector<std::int64_t> firsts = first_ranks();
    const std::set<std::int64_t> before(firsts.begin(), firsts.begin() + world_.rank());
    return std::ssize(before) - (node_.rank() > 0 ? 1 : 0);
  }
  void expect_traffic(const runner::NodeTraffic& traffic, const SentVolume& mine) const {
    std::array<std::int64_t, 2> all = {mine.bytes, mine.messages}, node = all;
    world_.allreduce_sum(std::span<std::int64_t>(all));
    node_.allreduce_sum(std::span<std::int64_t>(node));
    EXPECT_EQ(traffic.all, (SentVolume{all[0], all[1]}));
    EXPECT_EQ(traffic.node.bytes, world_.allreduce_max(node[0]));
    EXPECT_EQ(traffic.node.messages, world_.allreduce_max(node[1]));
    EXPECT_EQ(traffic.rank.bytes, world_.allreduce_max(mine.bytes));
    EXPECT_EQ(traffic.rank.messages, world_.allreduce_max(mine.messages));
  }

  /// Steps of a training; returns what this rank sends.
  SentVolume sent_in(int steps, const GradientTravel& travel) {
    std::vector<std::span<float>> of_node;
    const runner::SharedMemory memory(node_, kFloats * static_cast<std::int64_t>(sizeof(float)));
    for (int rank = 0; rank < node_.size(); ++rank) {
      const auto bytes = memory.part(rank);
      of_node.emplace_back(reinterpret_cast<float*>(bytes.data()), kFloats);
    }
    std::ranges::fill(of_node[static_cast<std::size_t>(node_.rank())], 1.0F);
    node_.barrier();
    telemetry::Telemetry telemetry(clock_);
    GradientExchange exchange(world_, node_, telemetry, of_node, travel);
    traffic() = {};
    for (int step = 0; step < steps; ++step) {
      exchange.begin();
      exchange.gradients_ready(kFloats / 2);
      exchange.finish();
      if (!exchange.divides_updates()) continue;
      exchange.start_gather(of_node[static_cast<std::size_t>(node_.rank())]);
      exchange.wait_gathered(0, kFloats);
    }
    node_.barrier();  // others may still read this rank's gradients
    const SentVolume sent = {traffic().bytes_sent, traffic().messages_sent};
    const SentVolume counted = {telemetry.count(Counter::kGradientBytesSent),
                                telemetry.count(Counter::kGradientMessagesSent)};
    EXPECT_EQ(counted.bytes, sent.bytes);
    EXPECT_EQ(counted.messages, sent.messages);
    return sent;
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator node_ = nodes_of(world_);
  const base::SystemClock clock_;
};

TEST_P(SentGradients, AreThoseOfTheFormula) {
  const OwnerGrid nodes = grid();
  const std::int64_t node = node_index(), owner = node_.rank();
  for (GradientTravel travel : travels()) {
    for (const std::int64_t piece : {0, 4096, 16 * 4096}) {
      travel.piece_floats = piece;
      const SentVolume one = owner < nodes.owners
                                 ? gradient_volume(travel, kFloats, nodes, node, owner)
                                 : SentVolume();
      const SentVolume sent = sent_in(3, travel);
      EXPECT_EQ(sent.bytes, 3 * one.bytes) << to_string(travel.payload) << " " << piece;
      EXPECT_EQ(sent.messages, 3 * one.messages) << to_string(travel.payload) << " " << piece;
      expect_traffic(node_traffic(travel, kFloats, nodes), one);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, SentGradients, kLayouts,
                         [](const auto& layout) { return layout.param; });

TEST(GradientVolume, SendsTheLeastBytesWhateverThePieces) {
  for (const std::int64_t nodes : {1, 2, 3, 7}) {
    for (const std::int64_t owners : {1, 2, 5}) {
      for (const std::int64_t piece : {0, 4096, 3 * 4096}) {
        for (const bool is_divided : {false, true}) {
          const GradientTravel travel = {.divided_update = is_divided, .piece_floats = piece};
          EXPECT_EQ(node_traffic(travel, kFloats, {nodes, owners}).all.bytes,
                    2 * (nodes - 1) * kFloats * 4);
        }
      }
    }
  }
}

TEST(GradientVolume, CountsBytesByHand) {
  // 2 nodes, one piece: each sends half of it to be summed, and the sum of its own half.
  const GradientTravel one_piece = {.piece_floats = 1 << 20};
  EXPECT_EQ(gradient_volume(one_piece, 1000, {2, 1}, 0, 0), (SentVolume{4000, 2}));
  EXPECT_EQ(gradient_volume(one_piece, 1001, {2, 1}, 0, 0), (SentVolume{4004, 2}));
  EXPECT_EQ(gradient_volume(one_piece, 3, {2, 1}, 1, 0), (SentVolume{4 * (2 + 1), 2}));
  EXPECT_EQ(gradient_volume({.payload = GradientPayload::kBf16}, 1024, {2, 1}, 0, 0),
            (SentVolume{2048, 2}));
  EXPECT_EQ(gradient_volume({.payload = GradientPayload::kInt8}, 1024, {4, 1}, 3, 0),
            (SentVolume{6 * 260, 6}));
  EXPECT_EQ(
      gradient_volume({.payload = GradientPayload::kTopK, .density = 0.25}, 1000, {3, 1}, 0, 0),
      (SentVolume{2 * 250 * 8, 2}));
  // Of 3 pieces the first owner has two, the second one.
  const GradientTravel cells = {.piece_floats = 4096};
  EXPECT_EQ(gradient_volume(cells, 3 * 4096, {2, 2}, 0, 0), (SentVolume{2 * 4 * 4096, 4}));
  EXPECT_EQ(gradient_volume(cells, 3 * 4096, {2, 2}, 0, 1), (SentVolume{4 * 4096, 2}));
}

}  // namespace
}  // namespace parallel
