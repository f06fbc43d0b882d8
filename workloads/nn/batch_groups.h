// Which samples share batch-norm statistics, and the order in which their sums are added, which is
// the same on any number of ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nn {

/// A rank's share of one pass: samples [first, first + count) of the `total` samples of all ranks.
struct PassSlice {
  std::int64_t total = 0, first = 0, count = 0;
};

/// One merge of the tree: adds the node in slot `right` to the node in slot `left`.
struct Merge {
  int left = 0, right = 0;
};

/// A group of samples that share statistics, seen from this rank. Samples are the leaves of a
/// binary tree that depends on the group's size alone: a node of n leaves splits at the largest
/// power of two below n. A rank adds up the largest nodes that it owns whole, the ranks of the
/// group exchange these nodes, and each finishes the tree. So the sums have the same bits on any
/// number of ranks, and a rank sends O(log samples) nodes. Slots: 0..local_count-1 are this rank's
/// samples; slots local_count.. are the exchanged nodes of all ranks, in order.
struct BatchGroup {
  std::int64_t index = 0;        ///< among all groups of the pass
  int parity = 0;                ///< if shared: of its position among all ranks' shared groups
  std::int64_t size = 0;         ///< samples in the group, on all ranks
  std::int64_t local_first = 0;  ///< its first local sample, within this rank's slice
  std::int64_t local_count = 0;
  bool shared = false;        ///< other ranks also have samples of it
  bool owned = false;         ///< this rank has its first sample
  std::vector<Merge> before;  ///< merges of this rank's samples
  std::vector<int> sent;      ///< slots of this rank's nodes after `before`
  std::vector<int>
      nodes_of_rank;         ///< if shared: nodes that each participating rank sends, in rank order
  std::vector<Merge> after;  ///< merges of exchanged nodes: local_count + i is node i
  int root = 0;              ///< slot of the whole group's sum
  std::vector<std::int64_t> samples;  ///< per slot: samples below its initial node
  int slots() const { return static_cast<int>(samples.size()); }
};

/// How the samples of a pass fall into groups of `group_size`.
struct BatchGroups {
  std::int64_t total = 0;          ///< groups on all ranks
  std::vector<BatchGroup> groups;  ///< groups with samples on this rank, in order
};

/// Plans groups of `group_size` consecutive samples. `slices` has the slice of every rank, `rank`
/// is this rank. Throws ShapeError when group_size does not divide the total, when slices do not
/// tile it, or when one is empty.
BatchGroups plan_batch_groups(const std::vector<PassSlice>& slices, int rank,
                              std::int64_t group_size);

/// Exchanges nodes with the other ranks of shared groups.
class StatisticsExchange {
 public:
  virtual ~StatisticsExchange() = default;
  /// Gathers the nodes of all ranks of the shared group `group`, in rank order: `mine` holds this
  /// rank's, `all` receives those of all. Collective over the ranks of the group; every rank calls
  /// in the order of exchange_order().
  virtual void gather(const BatchGroup& group, std::span<const double> mine,
                      std::span<double> all) = 0;
};

/// Positions in `groups.groups` of the shared groups, even parity first, so that chains of ranks do
/// not wait on each other. A rank is in at most one shared group of each parity.
std::vector<std::size_t> exchange_order(const BatchGroups& groups);

}  // namespace nn
