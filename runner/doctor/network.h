// Times of messages between nodes and of sums over all ranks, at training's message sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/communicator.h"

namespace doctor {

/// A link from a node to its right neighbour; the last node's neighbour is the first.
struct Link {
  int left = 0, right = 0;  ///< node indices
  double latency_s = 0.0, bytes_per_s = 0.0;
  std::int64_t bytes = 0;  ///< message size at which bytes_per_s was measured
};

struct Collective {
  std::int64_t bytes = 0;  ///< per rank: bytes summed, or sent to its neighbour
  double seconds = 0.0;    ///< of the slowest rank, best of a few
  bool is_exact = true;    ///< for sums: all ranks have the exact result
};

struct NetworkTimes {
  std::vector<Link> links;  ///< by left node; empty on a single node
  std::vector<Collective> rings, sums;
};

/// Collective. The links between the nodes' first ranks, one after another. On rank 0, else empty.
std::vector<Link> measure_links(const runner::Communicator& world,
                                const runner::Topology& topology);

/// Collective. `gradient_bytes`: size of all gradients, 0 if unknown; they are summed in pieces, at
/// most 64 MiB in total. Skips larger messages once one takes a second. Complete on rank 0.
NetworkTimes measure_network(const runner::Communicator& world, const runner::Topology& topology,
                             std::int64_t gradient_bytes);

/// Collective. The seconds by which each node's calendar clock is ahead of rank 0's, by node.
/// Complete on rank 0.
std::vector<double> calendar_offsets_s(const runner::Communicator& world,
                                       const runner::Topology& topology);

}  // namespace doctor
