// Tests of splitting into parts of nearly equal size.
#include "runner/base/split_evenly.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace base {
namespace {

TEST(SplitEvenly, CoversAllWithSizesThatDifferByAtMostOne) {
  std::int64_t next = 0, last_size = 4;
  for (std::int64_t part = 0; part < 7; ++part) {
    const auto [first, last] = split_evenly(23, 7, part);
    EXPECT_EQ(first, next);
    EXPECT_GE(last - first, 3);
    EXPECT_LE(last - first, last_size);
    last_size = last - first;
    next = last;
  }
  EXPECT_EQ(next, 23);
}

TEST(SplitEvenly, LeavesPartsEmptyWhereThereAreMoreThanItems) {
  EXPECT_EQ(split_evenly(2, 4, 1), std::pair(std::int64_t{1}, std::int64_t{2}));
  EXPECT_EQ(split_evenly(2, 4, 3), std::pair(std::int64_t{2}, std::int64_t{2}));
  EXPECT_EQ(split_evenly(0, 1, 0), std::pair(std::int64_t{0}, std::int64_t{0}));
}

TEST(SplitEvenly, KnowsThePartOfAnItem) {
  for (const std::int64_t total : {1, 5, 7, 23}) {
    for (const std::int64_t parts : {1, 2, 7, 30}) {
      for (std::int64_t item = 0; item < total; ++item) {
        const auto [first, last] = split_evenly(total, parts, part_of_item(total, parts, item));
        EXPECT_TRUE(first <= item && item < last) << item << " of " << total << " in " << parts;
      }
    }
  }
}

}  // namespace
}  // namespace base
