// Batch-norm groups: the tree of sums is the same wherever ranks cut it.
#include "workloads/nn/batch_groups.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "runner/base/error.h"

namespace {

using nn::BatchGroup;
using nn::BatchGroups;
using nn::PassSlice;

std::vector<PassSlice> slices_of(const std::vector<std::int64_t>& counts) {
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  std::vector<PassSlice> slices;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    slices.push_back({total, first, count});
    first += count;
  }
  return slices;
}

/// The expression of a group's sum as text, e.g. "((0+1)+2)". Exchanges between ranks are
/// simulated.
std::string expression(const std::vector<std::int64_t>& counts, int rank, std::size_t group_index,
                       std::int64_t size) {
  const auto run = [](const std::vector<nn::Merge>& program, std::vector<std::string>& slots) {
    for (const nn::Merge& merge : program) {
      auto& left = slots.at(static_cast<std::size_t>(merge.left));
      left = "(" + left + "+" + slots.at(static_cast<std::size_t>(merge.right)) + ")";
    }
  };
  const std::vector<PassSlice> slices = slices_of(counts);
  const BatchGroups ours = nn::plan_batch_groups(slices, rank, size);
  const BatchGroup& wanted = ours.groups.at(group_index);
  std::vector<std::string> exchanged;
  std::vector<std::string> slots;
  for (std::size_t r = 0; r < slices.size(); ++r) {
    const BatchGroups theirs = nn::plan_batch_groups(slices, static_cast<int>(r), size);
    for (const BatchGroup& group : theirs.groups) {
      if (group.index != wanted.index) continue;
      std::vector<std::string> local;
      for (std::int64_t i = 0; i < group.local_count; ++i) {
        local.push_back(
            std::to_string(slices[r].first + group.local_first + i - group.index * size));
      }
      local.resize(static_cast<std::size_t>(group.slots()));
      run(group.before, local);
      for (const int slot : group.sent)
        exchanged.push_back(local.at(static_cast<std::size_t>(slot)));
      if (static_cast<int>(r) == rank) slots = local;
    }
  }
  if (!wanted.shared) return slots.at(static_cast<std::size_t>(wanted.root));
  for (std::size_t i = 0; i < exchanged.size(); ++i)
    slots.at(static_cast<std::size_t>(wanted.local_count) + i) = exchanged[i];
  run(wanted.after, slots);
  return slots.at(static_cast<std::size_t>(wanted.root));
}

TEST(BatchGroups, AddInTheSameOrderOnAnyNumberOfRanks) {
  for (const std::int64_t size : {1, 3, 6, 8, 24}) {
    const std::string whole = expression({24}, 0, 0, size);
    for (const std::vector<std::int64_t>& counts : std::vector<std::vector<std::int64_t>>{
             {12, 12}, {8, 8, 8}, {9, 8, 7}, {6, 6, 6, 6}, {1, 23}, {3, 3, 3, 3, 3, 3, 3, 3}}) {
      for (int rank = 0; rank < static_cast<int>(counts.size()); ++rank) {
        const BatchGroups groups = nn::plan_batch_groups(slices_of(counts), rank, size);
        for (std::size_t g = 0; g < groups.groups.size(); ++g) {
          EXPECT_EQ(expression(counts, rank, g, size), whole)
              << "size " << size << ", rank " << rank;
        }
      }
    }
  }
}

TEST(BatchGroups, AreOwnedByExactlyOneRank) {
  const std::vector<std::int64_t> counts = {9, 8, 7};
  std::map<std::int64_t, int> owners;
  for (int rank = 0; rank < 3; ++rank) {
    for (const BatchGroup& group : nn::plan_batch_groups(slices_of(counts), rank, 6).groups) {
      owners[group.index] += group.owned ? 1 : 0;
    }
  }
  EXPECT_EQ(owners.size(), 4U);
  for (const auto& [index, count] : owners) EXPECT_EQ(count, 1) << index;
}

TEST(BatchGroups, SendFewNodesOfALargeGroup) {
  // 1,024 consecutive samples of a group of 4,096 are one node of the tree.
  const BatchGroups groups = nn::plan_batch_groups(slices_of({1024, 1024, 1024, 1024}), 2, 4096);
  EXPECT_EQ(groups.groups.at(0).sent.size(), 1U);
}

TEST(BatchGroups, RefuseASizeThatDoesNotDivideThePass) {
  EXPECT_THROW(nn::plan_batch_groups(slices_of({8, 8}), 0, 5), base::ShapeError);
  EXPECT_THROW(nn::plan_batch_groups(slices_of({8, 8}), 0, 0), base::ShapeError);
}

TEST(BatchGroups, RefuseARankWithoutSamples) {
  EXPECT_THROW(nn::plan_batch_groups(slices_of({8, 0}), 0, 4), base::ShapeError);
}

}  // namespace
