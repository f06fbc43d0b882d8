// Tests of sizes: how they are written, rounded and listed.
#include "workloads/parallel/exchange_bench/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"

namespace exchange_bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Sizes, AreNumbersWithUnits) {
  EXPECT_EQ(parse_size("-b", "8"), 8);
  EXPECT_EQ(parse_size("-b", "64K"), 65536);
  EXPECT_EQ(parse_size("-b", "3mib"), 3 << 20);
  EXPECT_EQ(parse_size("-e", "4G"), kMostBytes);
  for (const char* const text : {"", "K", "0", "-8", "5G", "4097M", "8 K", "1e6", "1.5M", "8X",
                                 "99999999999999999999", "8K\n"}) {
    EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { parse_size("--maxbytes", text); }),
                HasSubstr("bench exchange: --maxbytes: expected bytes from 1 to 4G"))
        << text;
  }
}

TEST(Sizes, GrowByAFactorOrAStepInWholeUnits) {
  EXPECT_THAT(list_sizes({8, 64, 2, 0}, 4), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(list_sizes({8, 100, 2, 0}, 12), ElementsAre(12, 24, 60));
  EXPECT_THAT(list_sizes({1, 10, 8, 0}, 4), ElementsAre(4, 8));
  EXPECT_THAT(list_sizes({4, 24, 2, 10}, 4), ElementsAre(4, 12, 24));
  EXPECT_THAT(list_sizes({kMostBytes / 2, kMostBytes, 1024, 0}, 4), ElementsAre(kMostBytes / 2));
}

TEST(Sizes, RefuseRangesWithNoneOrTooMany) {
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] {
                list_sizes({16, 8, 2, 0}, 4);
              }),
              HasSubstr("--minbytes: must not exceed --maxbytes, 8, got 16"));
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] {
                list_sizes({4, kMostBytes, 2, 4}, 4);
              }),
              HasSubstr("--stepbytes: expected at most 10000 sizes"));
}

}  // namespace
}  // namespace exchange_bench
