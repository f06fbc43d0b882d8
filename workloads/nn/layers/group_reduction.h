// Sums over the samples of batch-norm groups, along each group's tree, on one rank or several.
// Hides the tree's nodes and the exchange with other ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/nn/batch_groups.h"

namespace nn {

/// How two nodes are merged.
enum class Reduction {
  kMoments,  ///< first array: means; second: sums of squared distances from them
  kSums      ///< both arrays: plain sums
};

/// A node has two arrays of `channels` doubles. Use: start(), fill the nodes of every sample's
/// pieces, join_pieces(), reduce_local() for all channels of all groups, [local_nodes()],
/// reduce_shared(), root().
class GroupReduction {
 public:
  /// `piece_points`: values per channel of each piece that samples are cut into. `groups` and
  /// `exchange` outlive this; `exchange` may be null when no group is shared.
  GroupReduction(const BatchGroups& groups, StatisticsExchange* exchange, std::int64_t channels,
                 std::vector<std::int64_t> piece_points);
  /// Bytes of memory that start() takes.
  static std::int64_t bytes(const BatchGroups& groups, std::int64_t channels, std::int64_t pieces);

  void start(double* memory) { memory_ = memory; }
  /// The node of a piece; the first piece's is the sample's.
  double* piece_node(std::int64_t sample, std::int64_t piece) const {
    return piece == 0 ? sample_node(sample) : further_node(sample, piece);
  }
  /// Merges the nodes of the sample's pieces, in their order, for the channels [first, first +
  /// count) alone. May be called by several threads for different channels or samples.
  void join_pieces(Reduction reduction, std::int64_t sample, std::int64_t first,
                   std::int64_t count) const;
  /// Index of the sample's group.
  std::size_t group_of(std::int64_t sample) const {
    return group_of_sample_[static_cast<std::size_t>(sample)];
  }
  /// Merges this rank's nodes of `group` for the channels [first, first + count) alone. May be
  /// called by several threads for different channels.
  void reduce_local(Reduction reduction, std::size_t group, std::int64_t first,
                    std::int64_t count) const;
  /// Nodes that together cover each of this rank's samples of `group` once; valid between
  /// reduce_local() and reduce_shared().
  std::vector<const double*> local_nodes(std::size_t group) const;
  /// Collective over the ranks of shared groups.
  void reduce_shared(Reduction reduction);
  /// The node of the whole group.
  const double* root(std::size_t group) const { return node(group, groups_.groups[group].root); }

 private:
  double* node(std::size_t group, int slot) const {
    return memory_ + (bases_[group] + slot) * 2 * channels_;
  }
  double* sample_node(std::int64_t sample) const {
    return node(group_of(sample), slot_of_sample_[static_cast<std::size_t>(sample)]);
  }
  /// Stored after all nodes of groups.
  double* further_node(std::int64_t sample, std::int64_t piece) const {
    const auto further = static_cast<std::int64_t>(piece_points_.size()) - 1;
    return memory_ + (slots_ + sample * further + piece - 1) * 2 * channels_;
  }
  /// Values per channel below the two nodes of a merge.
  struct Counts {
    double left = 0.0, right = 0.0;
  };
  std::vector<Counts> counts_of(const std::vector<Merge>& program, std::size_t group) const;
  void run(const std::vector<Merge>& program, const std::vector<Counts>& counts, std::size_t group,
           Reduction reduction, std::int64_t first, std::int64_t count) const;
  void exchange(std::size_t group);

  const BatchGroups& groups_;
  StatisticsExchange* exchange_;
  std::int64_t channels_;
  std::vector<std::int64_t> piece_points_;
  std::int64_t points_, slots_ = 0;
  double* memory_ = nullptr;
  std::vector<std::int64_t> bases_;
  std::vector<std::size_t> exchange_order_, group_of_sample_;
  std::vector<int> slot_of_sample_;
  std::vector<std::vector<Counts>> counts_before_, counts_after_;  ///< by group, then merge
  std::vector<double> sent_;
};

}  // namespace nn
