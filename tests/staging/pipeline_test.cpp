// Tests of moving packs: what is copied, by how many threads and with how much memory, and how it
// ends.
#include "staging/pipeline.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "runner/stop_signals.h"
#include "staging/pack_buffers.h"
#include "staging/pipeline_fixture.h"

namespace staging {
namespace {

using testing::HasSubstr;

TEST(PackBuffers, AreAsManyAsTheyAreAllowedToBe) {
  PackBuffers buffers(2, 100);
  PackBuffer first = buffers.take_within(0.0);
  const PackBuffer second = buffers.take_within(0.0);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(buffers.take_within(0.01), nullptr);
  const std::byte* const memory = first.get();
  std::thread user([used = std::move(first)]() mutable { used.reset(); });
  const PackBuffer third = buffers.take_within(60.0);
  user.join();
  EXPECT_EQ(third.get(), memory);
}

TEST(NodeLimits, LetAsManyRanksCopyAsMemoryHolds) {
  const PipelineLimits wanted{4, 2};
  const std::int64_t images = most_images(wanted, false);
  EXPECT_EQ(images, 8);  // 5 places, 2 writers, 1 in hand
  EXPECT_EQ(most_images(wanted, true), 9);
  NodeLimits found = limits_of_node(1000 * images, {100, 0}, 4, wanted, false, "memory");
  EXPECT_EQ(found.carriers, 4);
  EXPECT_EQ(found.memory_bytes, 4 * 100 * images);
  found = limits_of_node(399 * images, {100, 0}, 4, wanted, false, "memory");
  EXPECT_EQ(found.carriers, 3);
  EXPECT_EQ(found.each.readers, 4);
  found = limits_of_node(100 * images - 1, {100, 0}, 4, wanted, false, "memory");
  EXPECT_EQ(found.carriers, 1);
  EXPECT_EQ(found.each.readers, 3);
  EXPECT_LE(found.memory_bytes, 100 * images - 1);
  EXPECT_EQ(limits_of_node(10, {0, 0}, 4, wanted, false, "memory").carriers, 1);  // nothing to copy
}

TEST(NodeLimits, CountThePackThatEachWriterExpands) {
  const PipelineLimits wanted{4, 2};
  const LargestPack largest{100, 1000};
  const std::int64_t all = 8 * 100 + 2 * 1000;
  EXPECT_EQ(limits_of_node(all, largest, 4, wanted, false, "").each.writers, 2);
  const NodeLimits fewer = limits_of_node(all - 1, largest, 4, wanted, false, "");
  EXPECT_EQ(fewer.carriers, 1);
  EXPECT_LE(fewer.memory_bytes, all - 1);
  EXPECT_EQ(limits_of_node(1400, largest, 4, wanted, false, "").memory_bytes, 1400);
  EXPECT_EQ(base::thrown_message<base::ConfigError>(
                [&] { limits_of_node(1399, largest, 4, wanted, false, "m"); }),
            "m: must hold 4 packs of up to 100 bytes and one of 1000 expanded, 1400 bytes in all, "
            "got 1399");
}

TEST(NodeLimits, RefuseLessMemoryThanOneRankNeeds) {
  EXPECT_EQ(base::thrown_message<base::ConfigError>([] {
              limits_of_node(399, {100, 0}, 4, {4, 2}, false, "/staging/memory_bytes");
            }),
            "/staging/memory_bytes: must hold 4 packs of up to 100 bytes, 400 bytes in all, got "
            "399");
  EXPECT_EQ(limits_of_node(400, {100, 0}, 4, {4, 2}, false, "").each.writers, 1);
}

TEST_F(PipelineOnRanks, CopiesEachPackOnceByAnyNumberOfThreads) {
  for (const PipelineLimits limits : {PipelineLimits{1, 1}, {4, 2}, {2, 5}}) {
    begin_set();
    source_->reads = 0;
    const auto moved = run(route_alone(), limits);
    ASSERT_TRUE(moved);
    EXPECT_EQ(source_->reads, kSamples);
    EXPECT_EQ(moved->source_bytes, list_->bytes());
    EXPECT_EQ(moved->copied_bytes, list_->bytes());
    EXPECT_EQ(moved->network_bytes, 0);
    expect_whole();
  }
}

TEST_F(PipelineOnRanks, CopiesToTheDeviceAndReadsBack) {
  begin_set();
  ASSERT_TRUE(run(route_alone(), {2, 2}, {Durability::kOnDevice}));
  expect_whole();
}

TEST_F(PipelineOnRanks, HoldsNoMoreThanItsImages) {
  begin_set();
  const PipelineLimits limits{2, 1};
  std::atomic<std::int64_t> most_ahead = 0;
  const std::string folder = folder_of_rank();
  source_->at_read = [&](std::int64_t index) {
    // What has been read and has no name yet is in memory.
    std::int64_t whole = 0;
    for (std::int64_t number = 0; number < list_->count(); ++number) {
      whole += std::filesystem::exists(store().path(number)) ? 1 : 0;
    }
    const std::int64_t ahead = list_->pack_of(index) + 1 - whole;
    for (std::int64_t seen = most_ahead; seen < ahead;) {
      if (most_ahead.compare_exchange_weak(seen, ahead)) break;
    }
  };
  ASSERT_TRUE(run(route_alone(), limits));
  EXPECT_LE(most_ahead, most_images(limits, false));
  EXPECT_GT(most_ahead, 0);
}

TEST_F(PipelineOnRanks, RethrowsWhatReadingThrows) {
  begin_set();
  source_->at_read = [](std::int64_t index) {
    if (index == kSamples / 2) throw base::DataError("sample in the middle: read failed");
  };
  EXPECT_EQ(base::thrown_message<base::DataError>([&] {
              run(route_alone(), {3, 2});
            }),
            "sample in the middle: read failed");
  expect_no_parts();
}

TEST_F(PipelineOnRanks, RethrowsWhatWritingThrows) {
  begin_set();
  std::filesystem::remove_all(folder_of_rank());
  EXPECT_THAT(base::thrown_message<base::SystemError>([&] {
                run(route_alone(), {3, 2});
              }),
              HasSubstr("pack-0000"));
}

TEST_F(PipelineOnRanks, StopsWhenItIsToldTo) {
  begin_set();
  const runner::StopSignals signals;
  std::atomic<bool> is_told = false;
  source_->at_read = [&](std::int64_t) {
    if (!is_told.exchange(true)) std::raise(SIGTERM);
  };
  EXPECT_FALSE(run(route_alone(), {2, 1}));
  EXPECT_LT(source_->reads, kSamples);
  expect_no_parts();
}

TEST_F(PipelineOnRanks, ReportsProgressWhileASlowSourceIsRead) {
  begin_set();
  source_->at_read = [](std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  const auto before = activity_.look().count;
  ASSERT_TRUE(run(route_alone(), {1, 1}));
  EXPECT_GE(activity_.look().count, before + static_cast<std::uint64_t>(list_->count()));
}

}  // namespace
}  // namespace staging
