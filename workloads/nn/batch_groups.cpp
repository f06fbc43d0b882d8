// The fixed tree of batch-norm sums, cut at rank boundaries.
#include "workloads/nn/batch_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runner/base/error.h"

namespace nn {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;  // half-open, within a group

std::int64_t split_point(const Range& range) {
  std::int64_t power = 1;
  while (power * 2 < range.second - range.first) power *= 2;
  return range.first + power;
}

/// The largest tree nodes inside `owned`, left to right.
void cover(const Range& node, const Range& owned, std::vector<Range>& out) {
  if (node.second <= owned.first || owned.second <= node.first) return;
  if (owned.first <= node.first && node.second <= owned.second) {
    out.push_back(node);
    return;
  }
  const std::int64_t middle = split_point(node);
  cover({node.first, middle}, owned, out);
  cover({middle, node.second}, owned, out);
}

/// Appends the merges that compute `node` from nodes with known slots; returns its slot.
int build(const Range& node, const std::map<Range, int>& slots, std::vector<Merge>& program) {
  if (const auto known = slots.find(node); known != slots.end()) return known->second;
  const std::int64_t middle = split_point(node);
  const int left = build({node.first, middle}, slots, program);
  const int right = build({middle, node.second}, slots, program);
  program.push_back({left, right});
  return left;
}

Range overlap(const PassSlice& slice, std::int64_t begin, std::int64_t size) {
  const std::int64_t first = std::max(slice.first, begin) - begin;
  const std::int64_t last = std::min(slice.first + slice.count, begin + size) - begin;
  return {first, std::max(first, last)};
}

/// Indices of the groups that a rank boundary cuts, in ascending order.
std::vector<std::int64_t> cut_groups(const std::vector<PassSlice>& slices, std::int64_t size) {
  std::vector<std::int64_t> cut;
  for (const PassSlice& slice : slices) {
    const bool inside = slice.first % size != 0;
    if (inside && (cut.empty() || cut.back() != slice.first / size))
      cut.push_back(slice.first / size);
  }
  return cut;
}

BatchGroup plan_group(const std::vector<PassSlice>& slices, int rank, std::int64_t index,
                      std::int64_t size) {
  const std::int64_t begin = index * size;
  const PassSlice& ours = slices[static_cast<std::size_t>(rank)];
  const Range mine = overlap(ours, begin, size);
  BatchGroup group;
  group.index = index;
  group.size = size;
  group.local_first = begin + mine.first - ours.first;
  group.local_count = mine.second - mine.first;
  group.owned = mine.first == 0;
  group.shared = group.local_count < size;

  std::map<Range, int> leaves;
  for (std::int64_t i = mine.first; i < mine.second; ++i) {
    leaves[{i, i + 1}] = static_cast<int>(i - mine.first);
  }
  std::vector<Range> nodes;
  cover({0, size}, mine, nodes);
  for (const Range& node : nodes) group.sent.push_back(build(node, leaves, group.before));
  group.samples.assign(static_cast<std::size_t>(group.local_count), 1);
  group.root = group.sent.front();
  if (!group.shared) return group;

  std::map<Range, int> exchanged;
  for (const PassSlice& slice : slices) {
    std::vector<Range> theirs;
    const Range owned = overlap(slice, begin, size);
    if (owned.second > owned.first) cover({0, size}, owned, theirs);
    if (theirs.empty()) continue;
    group.nodes_of_rank.push_back(static_cast<int>(theirs.size()));
    for (const Range& node : theirs) {
      exchanged[node] = group.slots();
      group.samples.push_back(node.second - node.first);
    }
  }
  group.root = build({0, size}, exchanged, group.after);
  return group;
}

}  // namespace

BatchGroups plan_batch_groups(const std::vector<PassSlice>& slices, int rank,
                              std::int64_t group_size) {
  std::int64_t next = 0;
  for (const PassSlice& slice : slices) {
    if (slice.first != next || slice.count < 1) {
      throw base::ShapeError("batch groups: every rank needs at least one sample of each pass");
    }
    next += slice.count;
  }
  if (group_size < 1 || next % group_size != 0) {
    throw base::ShapeError(
        fmt::format("bn_group_samples: must divide the {} samples of a pass on all ranks, got {}",
                    next, group_size));
  }
  BatchGroups groups;
  groups.total = next / group_size;
  const PassSlice& ours = slices[static_cast<std::size_t>(rank)];
  const std::int64_t last = (ours.first + ours.count - 1) / group_size;
  const std::vector<std::int64_t> cut = cut_groups(slices, group_size);
  for (std::int64_t index = ours.first / group_size; index <= last; ++index) {
    groups.groups.push_back(plan_group(slices, rank, index, group_size));
    const auto place = std::find(cut.begin(), cut.end(), index);
    groups.groups.back().parity = static_cast<int>((place - cut.begin()) % 2);
  }
  return groups;
}

std::vector<std::size_t> exchange_order(const BatchGroups& groups) {
  std::vector<std::size_t> order;
  for (const int parity : {0, 1}) {
    for (std::size_t i = 0; i < groups.groups.size(); ++i) {
      if (groups.groups[i].shared && groups.groups[i].parity == parity) order.push_back(i);
    }
  }
  return order;
}

}  // namespace nn
