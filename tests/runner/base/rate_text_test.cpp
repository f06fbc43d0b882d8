// Tests of rates as text.
#include "runner/base/rate_text.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(RateText, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(rate_text(0.0), "0 B/s");
  EXPECT_EQ(rate_text(35.54), "35.5 B/s");
  EXPECT_EQ(rate_text(999.4), "999 B/s");
  EXPECT_EQ(rate_text(999.6), "1 kB/s");
  EXPECT_EQ(rate_text(4.1e7), "41 MB/s");
  EXPECT_EQ(rate_text(9.994e8), "999 MB/s");
  EXPECT_EQ(rate_text(1.25e9), "1.25 GB/s");
  EXPECT_EQ(rate_text(2e12), "2 TB/s");
}

}  // namespace
}  // namespace base
