// Tests of the prefetcher: order, bounds, errors, early destruction.
#include "staging/prefetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>

#include "runner/base/error.h"

namespace staging {
namespace {

void fill_with_place(std::int64_t batch, std::int64_t slot, std::span<float> out,
                     std::int32_t& label) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(batch * 100 + slot * 10) + static_cast<float>(i);
  }
  label = static_cast<std::int32_t>(batch * 10 + slot);
}

TEST(Prefetcher, GivesEveryBatchInOrder) {
  for (const int threads : {1, 2, 5}) {
    for (const int depth : {1, 3}) {
      Prefetcher prefetcher(threads, depth, 4, 3, 5, 45, fill_with_place);
      for (std::int64_t batch = 5; batch < 45; ++batch) {
        const Batch& got = prefetcher.next();
        ASSERT_EQ(got.number, batch);
        ASSERT_EQ(got.data.size(), 12u);
        for (std::int64_t slot = 0; slot < 4; ++slot) {
          ASSERT_EQ(got.labels[static_cast<std::size_t>(slot)], batch * 10 + slot);
          ASSERT_EQ(got.data[static_cast<std::size_t>(slot * 3 + 2)],
                    static_cast<float>(batch * 100 + slot * 10 + 2));
        }
      }
      EXPECT_THROW(prefetcher.next(), base::Error);
    }
  }
}

TEST(Prefetcher, StaysAtMostDepthBatchesAhead) {
  std::atomic<std::int64_t> wanted = -1, furthest = -1;
  std::atomic<bool> too_far = false;
  const int depth = 2;
  Prefetcher prefetcher(3, depth, 2, 1, 0, 50,
                        [&](std::int64_t batch, std::int64_t, std::span<float>, std::int32_t&) {
                          if (batch > wanted + 1 + depth) too_far = true;
                          for (std::int64_t seen = furthest; seen < batch;) {
                            if (furthest.compare_exchange_weak(seen, batch)) break;
                          }
                        });
  for (std::int64_t batch = 0; batch < 50; ++batch) {
    prefetcher.next();
    wanted = batch;
  }
  EXPECT_FALSE(too_far);
  EXPECT_EQ(furthest, 49);
}

TEST(PrefetchQueue, GivesUpAfterTheTimeAndGoesOn) {
  std::promise<void> may_go_on;
  std::future<void> is_told = may_go_on.get_future();
  PrefetchQueue queue(1, 1, 1, 0, 2, [&](std::int64_t batch, std::int64_t, std::size_t) {
    if (batch == 0) is_told.wait();
  });
  EXPECT_EQ(queue.next_within(0.0), std::nullopt);
  EXPECT_EQ(queue.next_within(0.01), std::nullopt);
  may_go_on.set_value();
  EXPECT_EQ(queue.next().batch, 0);  // the one that was asked for
  for (;;) {
    if (const auto ready = queue.next_within(0.01)) {
      EXPECT_EQ(ready->batch, 1);
      break;
    }
  }
  EXPECT_THROW(queue.next_within(0.01), base::Error);
}

TEST(Prefetcher, HandsAnErrorToTheCallerOfItsBatch) {
  const auto fill = [](std::int64_t batch, std::int64_t slot, std::span<float>, std::int32_t&) {
    if (batch == 3 && slot >= 1) throw base::DataError("slot " + std::to_string(slot));
  };
  for (int repeat = 0; repeat < 20; ++repeat) {
    Prefetcher prefetcher(4, 4, 4, 1, 0, 10, fill);
    for (int batch = 0; batch < 3; ++batch) EXPECT_NO_THROW(prefetcher.next());
    try {
      prefetcher.next();
      FAIL() << "no error for batch 3";
    } catch (const base::DataError& e) {
      EXPECT_STREQ(e.what(), "slot 1");  // the first failing slot's, whichever thread was faster
    }
  }
}

TEST(Prefetcher, StopsEarlyWithoutWaitingForTheRest) {
  std::atomic<std::int64_t> filled = 0;
  {
    Prefetcher prefetcher(
        2, 2, 8, 1, 0, 1'000'000,
        [&](std::int64_t, std::int64_t, std::span<float>, std::int32_t&) { ++filled; });
    prefetcher.next();
  }
  EXPECT_LE(filled, 8 * 4);
}

TEST(Prefetcher, AcceptsBatchesWithoutSamples) {
  Prefetcher prefetcher(
      2, 2, 0, 4, 0, 3,
      [](std::int64_t, std::int64_t, std::span<float>, std::int32_t&) { FAIL(); });
  for (std::int64_t batch = 0; batch < 3; ++batch) {
    EXPECT_EQ(prefetcher.next().number, batch);
  }
}

TEST(Prefetcher, EndsWhenTheRangeIsEmpty) {
  Prefetcher prefetcher(2, 2, 4, 4, 7, 7, fill_with_place);
  EXPECT_THROW(prefetcher.next(), base::Error);
}

}  // namespace
}  // namespace staging
