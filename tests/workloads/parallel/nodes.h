// Ranks of this machine as if they were on several nodes.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "runner/communicator.h"

/// Ways to group the ranks of this machine into nodes: one node, two nodes, the first rank alone
/// and the rest, and each rank alone, which is a plain allreduce of all gradients.
class Nodes : public testing::TestWithParam<std::string> {
 protected:
  runner::Communicator nodes_of(const runner::Communicator& world) const {
    const int rank = world.rank();
    if (GetParam() == "one") return world.split(0, rank);
    if (GetParam() == "halves") return world.split(2 * rank < world.size() ? 0 : 1, rank);
    if (GetParam() == "uneven") return world.split(rank == 0 ? 0 : 1, rank);
    return world.split(rank, rank);
  }
};
inline const auto kLayouts = testing::Values("one", "halves", "uneven", "apart");
