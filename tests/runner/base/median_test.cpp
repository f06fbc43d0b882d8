// Medians of odd and even numbers of values, and of none.
#include "runner/base/median.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

TEST(Median, IsTheValueInTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(base::median_of({3.0}), 3.0);
  EXPECT_EQ(base::median_of({9.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(base::median_of({4.0, 1.0, 2.0, 3.0}), 2.5);
}

TEST(Median, OfNothingIsNoNumber) { EXPECT_TRUE(std::isnan(base::median_of({}))); }

}  // namespace
