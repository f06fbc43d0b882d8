// Tests of writing packs around the page cache, and of the choice to do so.
#include "staging/write_choice.h"

#include <fmt/core.h>

#include <cstdlib>
#include <cstring>

#include "runner/base/page_cache.h"
#include "staging/pack_fixture.h"
#include "staging/pack_writers.h"

namespace staging {
namespace {

constexpr Writing kFlushed{Durability::kOnDevice, DirectIo::kAuto, 1000, 1 << 30};
constexpr std::int64_t kBytes = 1000, kMany = 100;

/// To a page cache of 2,000 bytes.
constexpr Writing cached(std::int64_t node_bytes) {
  return {Durability::kCached, DirectIo::kAuto, node_bytes, 2000};
}
constexpr Writing flushed(DirectIo direct_io) {
  Writing writing = kFlushed;
  writing.direct_io = direct_io;
  return writing;
}

/// Lets packs be written until the choice is made, each way at its rate.
WriteWay choice_after(WriteChoice& choice, double cached_rate, double direct_rate) {
  for (int pack = 0; pack < 2 * WriteChoice::kTrialPacks; ++pack) {
    const WriteChoice::Next next = choice.next();
    EXPECT_NE(next.durability, Durability::kCached);
    const double rate = next.way == WriteWay::kDirect ? direct_rate : cached_rate;
    choice.took(next.way, kBytes, static_cast<double>(kBytes) / rate);
  }
  return choice.next().way;
}

TEST(WriteChoice, KeepsTheFasterWay) {
  for (const auto& [cached, direct, expected] :
       {std::tuple{100.0, 111.0, WriteWay::kDirect}, std::tuple{100.0, 109.0, WriteWay::kCached},
        std::tuple{100.0, 50.0, WriteWay::kCached}}) {
    WriteChoice choice(kFlushed, kMany);
    EXPECT_EQ(choice_after(choice, cached, direct), expected) << direct;
    choice.took(WriteWay::kDirect, kBytes, 1e-9);  // of a pack begun before: too late
    EXPECT_EQ(choice.next().way, expected);
    EXPECT_EQ(choice.next().durability, Durability::kOnDevice);
  }
}

TEST(WriteChoice, IsTriedOnlyWhereCopiesGoToTheDevice) {
  EXPECT_TRUE(is_trial_worth(kFlushed, kMany));
  EXPECT_TRUE(is_trial_worth(cached(1001), kMany));
  EXPECT_FALSE(is_trial_worth(cached(1000), kMany));
  EXPECT_TRUE(is_trial_worth(kFlushed, 16));
  EXPECT_FALSE(is_trial_worth(kFlushed, 15));
  WriteChoice choice(cached(1000), kMany);
  EXPECT_EQ(choice.next().way, WriteWay::kCached);
  EXPECT_EQ(choice.next().durability, Durability::kCached);
}

TEST(WriteChoice, FollowsAWish) {
  WriteChoice always(flushed(DirectIo::kAlways), 1);
  EXPECT_EQ(always.next().way, WriteWay::kDirect);
  WriteChoice trial(cached(1001), kMany);
  EXPECT_EQ(trial.next().durability, Durability::kFlushed);
  WriteChoice never(flushed(DirectIo::kNever), kMany);
  EXPECT_EQ(never.next().way, WriteWay::kCached);
}

TEST(WriteChoice, EndsWhereTheFileSystemRefuses) {
  WriteChoice choice(kFlushed, kMany);
  choice.next();
  choice.refuse_direct();
  EXPECT_EQ(choice.next().way, WriteWay::kCached);
  EXPECT_EQ(choice.next().way, WriteWay::kCached);
}

/// Packs of some blocks and a rest.
class DirectPacks : public Packs {
 protected:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  DirectPacks() {
    constexpr std::int64_t kSampleBytes = 3001;
    source_ = std::make_shared<MadeDataset>(std::vector<std::int64_t>(kSamples, kSampleBytes));
    list_ = std::make_shared<const PackList>(packs_of(*source_, kSampleBytes * kSamplesOfPack));
    write_record(folder(), record());
  }
  PackBuffer aligned(std::int64_t number) const {
    const std::vector<std::byte> bytes = image(number);
    PackBuffers buffers(1, bytes.size());
    PackBuffer memory = buffers.take_within(1.0);
    std::memcpy(memory.get(), bytes.data(), bytes.size());
    return memory;
  }
  std::span<const std::byte> span_of(const PackBuffer& memory, std::int64_t number) const {
    return {memory.get(), static_cast<std::size_t>(image_bytes(*list_, number))};
  }
  std::int64_t warm_bytes(std::int64_t number) const {
    base::PageLook look(base::Probes::kWithoutReading, 1);
    const base::FilePages found = look.look(store().path(number));
    EXPECT_EQ(found.by, base::LookedBy::kMincore);
    return found.warm_bytes;
  }
};

TEST_F(DirectPacks, LeaveOnlyTheirEndInThePageCache) {
  for (const Durability durability : {Durability::kCached, Durability::kOnDevice}) {
    const PackBuffer memory = aligned(0);
    const auto bytes = span_of(memory, 0);
    ASSERT_NE(bytes.size() % kDirectAlignment, 0u);
    EXPECT_EQ(store().put(0, bytes, durability, WriteWay::kCached), WriteWay::kCached);
    if (durability == Durability::kCached) {
      EXPECT_GE(warm_bytes(0), std::ssize(bytes) - 1);
    }
    const WriteWay went = store().put(0, bytes, durability, WriteWay::kDirect);
    EXPECT_EQ(store().find_damage(0), "");
    if (went == WriteWay::kCached) GTEST_SKIP() << "needs a file system with O_DIRECT";
  }
  const PackBuffer memory = aligned(1);
  store().put(1, span_of(memory, 1), Durability::kCached, WriteWay::kDirect);
  EXPECT_LE(warm_bytes(1), std::int64_t{2 * kDirectAlignment});
}

TEST_F(DirectPacks, GoThroughTheCacheFromOtherMemory) {
  const std::vector<std::byte> bytes = image(2);
  std::vector<std::byte> shifted(bytes.size() + 1);
  std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  EXPECT_EQ(store().put(2, std::span(shifted).subspan(1), Durability::kCached, WriteWay::kDirect),
            WriteWay::kCached);
  EXPECT_EQ(store().find_damage(2), "");
}

TEST_F(DirectPacks, OfLessThanABlockGoThroughTheCacheAndChangeNothingForOthers) {
  PackWriters writers(1, store(), {.direct_io = DirectIo::kAlways}, 2);
  PackBuffers buffers(1, kDirectAlignment);
  const PackBuffer memory = buffers.take_within(1.0);
  writers.put({0, memory, 100, 100});  // no pack, but its bytes do not matter
  const std::int64_t size = image_bytes(*list_, 1);
  writers.put({1, aligned(1), static_cast<std::size_t>(size), size});
  while (!writers.are_done_within(1.0)) continue;
  EXPECT_EQ(store().find_damage(1), "");
  if (writers.direct_bytes() == 0) GTEST_SKIP() << "needs a file system with O_DIRECT";
  EXPECT_EQ(writers.direct_bytes(), size);
}

TEST_F(DirectPacks, AreWrittenByThreadsThatTryBothWays) {
  PackWriters writers(2, store(), cached(2000), kMany);
  std::int64_t bytes = 0;
  for (std::int64_t number = 0; number < kPacks; ++number) {
    const std::int64_t size = image_bytes(*list_, number);
    writers.put({number, aligned(number), static_cast<std::size_t>(size), size});
    bytes += size;
  }
  while (!writers.are_done_within(1.0)) continue;
  EXPECT_EQ(writers.written_bytes(), bytes);
  for (std::int64_t number = 0; number < kPacks; ++number) {
    EXPECT_EQ(store().find_damage(number), "");
  }
  if (writers.direct_bytes() == 0) GTEST_SKIP() << "needs a file system with O_DIRECT";
  EXPECT_GE(writers.direct_bytes(), WriteChoice::kTrialPacks * image_bytes(*list_, 0));
}

}  // namespace
}  // namespace staging
