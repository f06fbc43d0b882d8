// Merging of tree nodes.
#include "workloads/nn/layers/group_reduction.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace nn {
namespace {

/// A range of channels of two nodes; a node's second array is `stride` doubles after its first.
struct NodePair {
  double* left;
  const double* right;
  std::int64_t stride, count;
};

void add_nodes(const NodePair& nodes) {
  for (const std::int64_t array : {std::int64_t{0}, nodes.stride}) {
    for (std::int64_t i = array; i < array + nodes.count; ++i) nodes.left[i] += nodes.right[i];
  }
}

/// Merges means and sums of squared distances.
/// Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
/// variances", 1979.
void merge_moments(const NodePair& nodes, double left_count, double right_count) {
  const double share = right_count / (left_count + right_count);
  double* const left_squares = nodes.left + nodes.stride;
  const double* const right_squares = nodes.right + nodes.stride;
  for (std::int64_t c = 0; c < nodes.count; ++c) {
    const double distance = nodes.right[c] - nodes.left[c];
    nodes.left[c] += distance * share;
    left_squares[c] += right_squares[c] + distance * distance * share * left_count;
  }
}

void merge(Reduction reduction, const NodePair& nodes, double left_count, double right_count) {
  if (reduction == Reduction::kMoments) {
    merge_moments(nodes, left_count, right_count);
  } else {
    add_nodes(nodes);
  }
}

}  // namespace

GroupReduction::GroupReduction(const BatchGroups& groups, StatisticsExchange* exchange,
                               std::int64_t channels, std::vector<std::int64_t> piece_points)
    : groups_(groups),
      exchange_(exchange),
      channels_(channels),
      piece_points_(std::move(piece_points)),
      points_(std::accumulate(piece_points_.begin(), piece_points_.end(), std::int64_t{0})),
      exchange_order_(exchange_order(groups)) {
  for (std::size_t g = 0; g < groups.groups.size(); ++g) {
    const BatchGroup& group = groups.groups[g];
    bases_.push_back(slots_);
    slots_ += group.slots();
    counts_before_.push_back(counts_of(group.before, g));
    counts_after_.push_back(counts_of(group.after, g));
    for (std::int64_t i = 0; i < group.local_count; ++i) {
      group_of_sample_.push_back(g);
      slot_of_sample_.push_back(static_cast<int>(i));
    }
  }
}

std::int64_t GroupReduction::bytes(const BatchGroups& groups, std::int64_t channels,
                                   std::int64_t pieces) {
  std::int64_t nodes = 0;
  for (const BatchGroup& group : groups.groups) {
    nodes += group.slots() + group.local_count * (pieces - 1);
  }
  return nodes * 2 * channels * static_cast<std::int64_t>(sizeof(double));
}

std::vector<GroupReduction::Counts> GroupReduction::counts_of(const std::vector<Merge>& program,
                                                              std::size_t group) const {
  std::vector<std::int64_t> samples = groups_.groups[group].samples;
  std::vector<Counts> counts;
  for (const Merge& merge : program) {
    std::int64_t& left = samples[static_cast<std::size_t>(merge.left)];
    const std::int64_t right = samples[static_cast<std::size_t>(merge.right)];
    counts.push_back({static_cast<double>(left * points_), static_cast<double>(right * points_)});
    left += right;
  }
  return counts;
}

void GroupReduction::run(const std::vector<Merge>& program, const std::vector<Counts>& counts,
                         std::size_t group, Reduction reduction, std::int64_t first,
                         std::int64_t count) const {
  for (std::size_t i = 0; i < program.size(); ++i) {
    merge(reduction,
          {node(group, program[i].left) + first, node(group, program[i].right) + first, channels_,
           count},
          counts[i].left, counts[i].right);
  }
}

void GroupReduction::join_pieces(Reduction reduction, std::int64_t sample, std::int64_t first,
                                 std::int64_t count) const {
  std::int64_t before = piece_points_.front();
  for (std::size_t piece = 1; piece < piece_points_.size(); ++piece) {
    merge(reduction,
          {sample_node(sample) + first,
           further_node(sample, static_cast<std::int64_t>(piece)) + first, channels_, count},
          static_cast<double>(before), static_cast<double>(piece_points_[piece]));
    before += piece_points_[piece];
  }
}

void GroupReduction::reduce_local(Reduction reduction, std::size_t group, std::int64_t first,
                                  std::int64_t count) const {
  run(groups_.groups[group].before, counts_before_[group], group, reduction, first, count);
}

std::vector<const double*> GroupReduction::local_nodes(std::size_t group) const {
  std::vector<const double*> nodes;
  for (const int slot : groups_.groups[group].sent) nodes.push_back(node(group, slot));
  return nodes;
}

void GroupReduction::exchange(std::size_t group) {
  const BatchGroup& plan = groups_.groups[group];
  const auto node_size = static_cast<std::size_t>(2 * channels_);
  sent_.resize(plan.sent.size() * node_size);
  for (std::size_t i = 0; i < plan.sent.size(); ++i) {
    std::memcpy(sent_.data() + i * node_size, node(group, plan.sent[i]),
                node_size * sizeof(double));
  }
  const auto all = static_cast<std::size_t>(plan.slots() - plan.local_count) * node_size;
  exchange_->gather(plan, sent_, {node(group, static_cast<int>(plan.local_count)), all});
}

void GroupReduction::reduce_shared(Reduction reduction) {
  for (const std::size_t group : exchange_order_) {
    exchange(group);
    run(groups_.groups[group].after, counts_after_[group], group, reduction, 0, channels_);
  }
}

}  // namespace nn
