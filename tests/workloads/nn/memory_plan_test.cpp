// Buffers whose lifetimes meet never overlap, and memory is shared where they do not.
#include "workloads/nn/memory_plan.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "runner/base/random.h"

namespace {

TEST(MemoryPlan, NeverOverlapsBuffersThatLiveTogether) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
    nn::MemoryPlan plan;
    constexpr int kBuffers = 60;
    for (int i = 0; i < kBuffers; ++i) {
      const int first = static_cast<int>(random.below(40));
      plan.request(static_cast<std::int64_t>(random.below(5000)), first,
                   first + static_cast<int>(random.below(12)), "x");
      if (i % 2 == 1) plan.pass_caches(i);
    }
    plan.place();
    const std::int64_t total = plan.total_bytes();
    if (seed % 2 == 1) plan.move_apart();
    EXPECT_EQ(plan.total_bytes(), total);
    for (int a = 0; a < kBuffers; ++a) {
      EXPECT_EQ(plan.offset(a) % nn::MemoryPlan::kAlignment, 0);
      EXPECT_LE(plan.offset(a) + plan.bytes(a), plan.total_bytes());
      for (int b = 0; b < a; ++b) {
        bool together = false;
        for (int moment = 0; moment < 60; ++moment)
          together |= plan.lives(a, moment) && plan.lives(b, moment);
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

/// Two buffers, one behind the other in the same place, and a third one that leaves room for both.
class Followers {
 public:
  explicit Followers(int second_moment)
      : first(plan_.request(640, 1, 3, "scratch")),
        second(plan_.request(640, second_moment, 9, "value")) {
    plan_.request(1280, 20, 21, "large");
  }
  /// What stands where once some have moved.
  std::pair<std::int64_t, std::int64_t> places(const std::vector<nn::BufferId>& passing) {
    for (const nn::BufferId buffer : passing) plan_.pass_caches(buffer);
    plan_.place();
    EXPECT_EQ(plan_.offset(first), plan_.offset(second));
    plan_.move_apart();
    EXPECT_EQ(plan_.total_bytes(), 1280);
    return {plan_.offset(first), plan_.offset(second)};
  }

 private:
  nn::MemoryPlan plan_;

 public:
  const nn::BufferId first, second;
};

TEST(MemoryPlan, MovesWhatPassesByTheCachesFromWhatIsInThem) {
  using Places = std::pair<std::int64_t, std::int64_t>;
  Followers none(4), behind(4), before(4), both(4), later(5);
  EXPECT_EQ(none.places({}), Places(0, 0));
  EXPECT_EQ(behind.places({behind.second}), Places(0, 640));
  EXPECT_EQ(before.places({before.first}), Places(640, 0));
  EXPECT_EQ(both.places({both.first, both.second}), Places(640, 0));
  EXPECT_EQ(later.places({later.second}), Places(0, 0)) << "a moment lies between them";
}

TEST(MemoryPlan, MovesNothingWhereThereIsNoOtherPlace) {
  nn::MemoryPlan plan;
  plan.request(640, 1, 3, "scratch");
  const nn::BufferId value = plan.request(640, 4, 9, "value");
  plan.pass_caches(value);
  plan.place();
  plan.move_apart();
  EXPECT_EQ(plan.offset(value), 0);
  EXPECT_EQ(plan.total_bytes(), 640);
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
