// Which samples share batch-norm statistics, and in what fixed order their sums are added on any
// number of ranks. Hides the tree of partial sums.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nn {

/// The samples of one pass: `total` on all ranks together, of which this rank has `count`, from
/// global index `first` on.
struct PassSlice {
  std::int64_t total = 0, first = 0, count = 0;
};

/// One addition of the tree: slot dst = slot left + slot right (dst is left's).
struct Merge {
  int left = 0, right = 0;
};

/// A group of samples whose statistics are taken together, seen from this rank. Samples are leaves
/// of a binary tree that depends on the group's size alone (a node of n leaves splits at the
/// largest power of two below n); a rank adds up the largest nodes that it owns whole, the ranks of
/// the group exchange those, and each finishes the tree. So the sums have the same bits on any
/// number of ranks, and a rank sends O(log samples) nodes. Slots: 0..local-1 are this rank's
/// samples; slots local.. are the exchanged nodes of all ranks, in order.
struct BatchGroup {
  std::int64_t index = 0;        ///< of all groups of the pass
  int parity = 0;                ///< shared: of its place among the shared groups of all ranks
  std::int64_t size = 0;         ///< samples in the group, on all ranks
  std::int64_t local_first = 0;  ///< of this rank's samples in it, as index within the rank's pass
  std::int64_t local_count = 0;
  bool shared = false;        ///< other ranks have samples of it, too
  bool owned = false;         ///< this rank has its first sample
  std::vector<Merge> before;  ///< within this rank's samples
  std::vector<int> sent;      ///< slots that hold this rank's nodes afterwards
  std::vector<int>
      nodes_of_rank;         ///< shared: nodes that each participating rank sends, in rank order
  std::vector<Merge> after;  ///< over the exchanged nodes: local + i is node i
  int root = 0;              ///< slot of the whole group's sum
  std::vector<std::int64_t> samples;  ///< per slot: samples below it at first
  int slots() const { return static_cast<int>(samples.size()); }
};

/// How the samples of a pass fall into groups of `group_size`.
struct BatchGroups {
  std::int64_t total = 0;          ///< groups on all ranks
  std::vector<BatchGroup> groups;  ///< those that this rank has samples of, in order
};

/// Groups of `group_size` samples in global order. `slices` has the slice of every rank, `rank` is
/// ours. Throws ShapeError when group_size does not divide the total, or slices do not tile it.
BatchGroups plan_batch_groups(const std::vector<PassSlice>& slices, int rank,
                              std::int64_t group_size);

/// The door to the other ranks of shared groups.
class StatisticsExchange {
 public:
  virtual ~StatisticsExchange() = default;
  /// The nodes of all ranks of shared group `group` (index into the pass's groups), in rank order:
  /// `mine` are ours, `all` receives everybody's. Collective over the ranks of the group; every
  /// rank calls in the order of exchange_order().
  virtual void gather(const BatchGroup& group, std::span<const double> mine,
                      std::span<double> all) = 0;
};

/// Positions in `groups.groups` of the shared groups, even parity first, so that chains of ranks do
/// not wait on each other. A rank is in at most one shared group of each parity.
std::vector<std::size_t> exchange_order(const BatchGroups& groups);

}  // namespace nn
