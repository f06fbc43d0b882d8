// Buffers whose lifetimes overlap never share memory; others do.
#include "workloads/nn/memory_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "runner/base/random.h"

namespace {

TEST(MemoryPlan, NeverOverlapsBuffersThatLiveTogether) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
    nn::MemoryPlan plan;
    constexpr int kBuffers = 60;
    std::vector<int> first, last;  // moments of each buffer
    for (int i = 0; i < kBuffers; ++i) {
      first.push_back(static_cast<int>(random.below(40)));
      last.push_back(first.back() + static_cast<int>(random.below(12)));
      plan.request(static_cast<std::int64_t>(random.below(5000)), first.back(), last.back(), "x");
    }
    plan.place();
    for (int a = 0; a < kBuffers; ++a) {
      EXPECT_EQ(plan.offset(a) % nn::MemoryPlan::kAlignment, 0);
      EXPECT_LE(plan.offset(a) + plan.bytes(a), plan.total_bytes());
      for (int b = 0; b < a; ++b) {
        const auto one = static_cast<std::size_t>(a), other = static_cast<std::size_t>(b);
        const bool together = first[one] <= last[other] && first[other] <= last[one];
        const bool apart = plan.offset(a) + plan.bytes(a) <= plan.offset(b) ||
                           plan.offset(b) + plan.bytes(b) <= plan.offset(a);
        EXPECT_TRUE(!together || apart) << a << " and " << b << ", seed " << seed;
      }
    }
  }
}

TEST(MemoryPlan, GivesTheSamePlaceToBuffersThatNeverMeet) {
  nn::MemoryPlan plan;
  for (int moment = 0; moment < 10; ++moment) plan.request(640, moment, moment, "x");
  plan.place();
  EXPECT_EQ(plan.total_bytes(), 640);
  EXPECT_EQ(plan.unshared_bytes().at("x"), 6400);
}

TEST(MemoryPlan, KeepsAnExtendedBufferFromOthers) {
  nn::MemoryPlan plan;
  const nn::BufferId kept = plan.request(640, 0, 0, "x");
  plan.extend(kept, 5);
  plan.request(640, 5, 6, "x");
  plan.place();
  EXPECT_EQ(plan.total_bytes(), 1280);
}

TEST(MemoryPlan, TellsWhenMostIsInUseAndWhatItIsFor) {
  nn::MemoryPlan plan;
  plan.request(128, 0, 1, "x");
  plan.request(320, 2, 4, "x");
  plan.request(64, 3, 4, "y");
  plan.request(192, 3, 3, "y");
  plan.request(64, 5, 9, "z");
  const nn::MemoryPlan::Peak peak = plan.peak();
  EXPECT_EQ(peak.moment, 3);
  EXPECT_EQ(peak.bytes, (std::map<std::string, std::int64_t>{{"x", 320}, {"y", 256}}));
}

}  // namespace
