// Times of messages between nodes and of sums over all ranks, at the sizes that training sends.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/communicator.h"

namespace doctor {

/// Between a node and its right neighbour; the last one's is the first.
struct Link {
  int left = 0, right = 0;  ///< node indices
  double latency_s = 0.0, bytes_per_s = 0.0;
  std::int64_t bytes = 0;  ///< of the messages that gave bytes_per_s
};

struct Collective {
  std::int64_t bytes = 0;  ///< that each rank sums, or sends to its neighbour
  double seconds = 0.0;    ///< of the slowest rank, best of a few
  bool is_exact = true;    ///< of sums: all ranks have the exact one
};

struct NetworkTimes {
  std::vector<Link> links;  ///< by left node; empty on a single node
  std::vector<Collective> rings, sums;
};

/// Collective. `gradient_bytes`: of all gradients, 0 where no configuration says; they are summed
/// in pieces, and up to 64 MiB at once. Larger messages are left out once one takes a second.
/// Complete on rank 0.
NetworkTimes measure_network(const runner::Communicator& world, const runner::Topology& topology,
                             std::int64_t gradient_bytes);

/// Collective. By how many seconds each node's calendar clock is ahead of rank 0's, by node;
/// complete on rank 0.
std::vector<double> calendar_offsets_s(const runner::Communicator& world,
                                       const runner::Topology& topology);

}  // namespace doctor
