// Allgather of tree nodes within a group, on a communicator for each parity.
#include "workloads/parallel/statistics_exchange.h"

#include "runner/base/error.h"
#include "runner/base/narrow.h"
#include "runner/base/split_evenly.h"

namespace parallel {

namespace {

/// Index of the group of this parity that the rank shares with other ranks; -1 if it has none.
int shared_group(const nn::BatchGroups& groups, int parity) {
  int found = -1;
  for (const nn::BatchGroup& group : groups.groups) {
    if (!group.shared || group.parity != parity) continue;
    if (found >= 0) {
      throw base::Error(base::ExitCode::kInternal, "a rank shares two groups of one parity");
    }
    found = base::narrow<int>(group.index);
  }
  return found;
}

}  // namespace

GroupExchange::GroupExchange(const runner::Communicator& world, const nn::BatchGroups& groups) {
  for (const int parity : {0, 1}) {
    of_parity_.push_back(world.split(shared_group(groups, parity), world.rank()));
  }
}

void GroupExchange::gather(const nn::BatchGroup& group, std::span<const double> mine,
                           std::span<double> all) {
  const runner::Communicator& ranks = of_parity_[static_cast<std::size_t>(group.parity)];
  int nodes = 0;
  for (const int count : group.nodes_of_rank) nodes += count;
  const int node_size =
      nodes == 0 ? 0 : base::narrow<int>(static_cast<std::int64_t>(all.size()) / nodes);
  std::vector<int> counts;
  for (const int count : group.nodes_of_rank) counts.push_back(count * node_size);
  ranks.allgather(mine, all, counts);
}

std::vector<nn::PassSlice> slice_pass(std::int64_t samples, int ranks) {
  if (samples < ranks) {
    throw base::ConfigError("global_batch_size: every rank needs a sample of each pass; got " +
                            std::to_string(samples) + " samples for " + std::to_string(ranks) +
                            " ranks");
  }
  std::vector<nn::PassSlice> slices;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [first, last] = base::split_evenly(samples, ranks, rank);
    slices.push_back({samples, first, last - first});
  }
  return slices;
}

}  // namespace parallel
