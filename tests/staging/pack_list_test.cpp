// Tests of how a dataset is cut into packs, on several ranks.
#include "staging/pack_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <span>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/base/thrown_message.h"
#include "runner/stop_signals.h"
#include "staging/made_dataset.h"

namespace staging {
namespace {

using testing::ElementsAre;

class PackListOnRanks : public testing::Test {
 protected:
  PackList list(const dataset::Dataset& source) const { return list_packs(source, world_); }
  /// The same by this rank alone.
  PackList list_alone(const dataset::Dataset& source) const {
    return list_packs(source, world_.split(world_.rank(), 0));
  }
  std::string identity(const dataset::Dataset& source) const {
    return list(source).identity(source);
  }
  const runner::Communicator world_ = runner::Communicator::world();
};

void expect_equal(const PackList& a, const PackList& b) {
  ASSERT_EQ(a.count(), b.count());
  EXPECT_EQ(a.samples(), b.samples());
  for (std::int64_t i = 0; i < a.count(); ++i) {
    ASSERT_EQ(a[i].first, b[i].first);
    ASSERT_EQ(a[i].bytes, b[i].bytes);
    ASSERT_EQ(a[i].stamp, b[i].stamp);
  }
}

std::int64_t sum_of(const MadeDataset& source, std::int64_t first, std::int64_t last) {
  return std::accumulate(source.sizes.begin() + first, source.sizes.begin() + last,
                         std::int64_t{0});
}

TEST_F(PackListOnRanks, IsTheSameOnAnyNumberOfRanks) {
  for (const std::int64_t samples : {0, 1, 3, 1000}) {
    const MadeDataset source = MadeDataset::random(samples, 3000);
    const PackList together = list(source), alone = list_alone(source);
    expect_equal(together, alone);
    EXPECT_EQ(together.identity(source), alone.identity(source));
    EXPECT_EQ(together.bytes(), source.total());
  }
}

TEST_F(PackListOnRanks, CutsBySizeAndNeverWithinASample) {
  const MadeDataset source = MadeDataset::random(1000, 3000);
  const std::int64_t pack_bytes = pack_bytes_for(source.total());
  const PackList packs = list(source);
  EXPECT_EQ(packs[0].first, 0);
  EXPECT_EQ(packs.last(packs.count() - 1), 1000);
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < packs.count(); ++i) {
    ASSERT_LT(packs[i].first, packs.last(i));
    ASSERT_EQ(packs[i].bytes, sum_of(source, packs[i].first, packs.last(i)));
    ASSERT_LE(packs[i].bytes, pack_bytes + 3000);
    // All samples of a pack begin within one multiple of pack_bytes.
    const std::int64_t last_sample = source.sizes[static_cast<std::size_t>(packs.last(i) - 1)];
    ASSERT_EQ(before / pack_bytes, (before + packs[i].bytes - last_sample) / pack_bytes);
    before += packs[i].bytes;
  }
}

TEST_F(PackListOnRanks, CutsEachSetIntoAtLeastThirtyTwoPacks) {
  for (const std::int64_t size : {200, 777, 5000}) {
    const MadeDataset source(std::vector<std::int64_t>(2000, size));
    const std::int64_t count = list(source).count();
    EXPECT_GE(count, 32);
    EXPECT_LE(count, 65);
  }
}

TEST_F(PackListOnRanks, GivesALargeSampleAPackOfItsOwn) {
  constexpr std::int64_t kLarge = 50000;
  const MadeDataset source({4000, 96, kLarge, 10, 20});
  const PackList packs = list(source);  // of 4 KiB
  ASSERT_EQ(packs.count(), 3);
  EXPECT_EQ(packs[1].first, 2);
  EXPECT_EQ(packs[1].bytes, kLarge);
  EXPECT_EQ(packs.last(1), 3);
}

TEST_F(PackListOnRanks, FindsThePackOfEachSample) {
  const MadeDataset source = MadeDataset::random(500, 3000);
  const PackList packs = list(source);
  for (std::int64_t index = 0; index < 500; ++index) {
    const std::int64_t number = packs.pack_of(index);
    ASSERT_LE(packs[number].first, index);
    ASSERT_LT(index, packs.last(number));
  }
  const std::int64_t some = packs[3].first;
  EXPECT_THAT(packs.packs_of({{some, some + 1}}), ElementsAre(3));
  EXPECT_THAT(packs.packs_of({{some, packs.last(3)}}), ElementsAre(3));
  EXPECT_THAT(packs.packs_of({{some - 1, some + 1}, {packs.last(3), packs.last(3) + 1}}),
              ElementsAre(2, 3, 4));
  // Two ranges of one pack.
  EXPECT_THAT(packs.packs_of({{some, some + 1}, {packs.last(3) - 1, packs.last(3)}}),
              ElementsAre(3));
  EXPECT_TRUE(packs.packs_of({}).empty());
  EXPECT_EQ(std::ssize(packs.packs_of({{0, 500}})), packs.count());
}

TEST_F(PackListOnRanks, TakesEachStampOnceInTheJob) {
  const MadeDataset source = MadeDataset::random(101, 3000);
  list(source);
  std::vector<std::int64_t> sum = {source.stamps};
  world_.allreduce_sum(std::span(sum));
  EXPECT_EQ(sum[0], 101);
}

TEST_F(PackListOnRanks, KnowsWhenTwoFilesHaveChangedNames) {
  MadeDataset source(std::vector<std::int64_t>(50, 1000));
  const std::string before = identity(source);
  EXPECT_EQ(identity(source), before);
  std::swap(source.names[20], source.names[21]);
  EXPECT_NE(identity(source), before);
}

TEST_F(PackListOnRanks, KnowsWhenASampleHasChanged) {
  MadeDataset source(std::vector<std::int64_t>(50, 1000));
  const std::string before = identity(source);
  source.mtime_ns = 6;
  EXPECT_NE(identity(source), before);
  source.mtime_ns = 5;
  source.sizes[3] = 999;
  source.sizes[4] = 1001;
  EXPECT_NE(identity(source), before);
}

TEST_F(PackListOnRanks, DoesNotDependOnLabels) {
  MadeDataset source(std::vector<std::int64_t>(50, 1000));
  const std::string before = identity(source);
  source.first_label = 1;
  EXPECT_EQ(identity(source), before);
  source.classes = {"even", "uneven"};  // labels of another dataset
  EXPECT_NE(identity(source), before);
}

TEST_F(PackListOnRanks, EndsWhenOneRankIsToldTo) {
  MadeDataset source = MadeDataset::random(10000, 100);
  const runner::StopSignals signals;
  const bool is_told = world_.rank() == world_.size() - 1;
  source.at_stamp = [&](std::int64_t) {
    if (source.stamps == 3 && is_told) raise(SIGTERM);
  };
  try {
    list(source);
    ADD_FAILURE() << "went on";
  } catch (const runner::AgreedError& e) {
    EXPECT_EQ(e.code(), base::ExitCode::kStopped);
  }
  if (is_told) {
    EXPECT_EQ(source.stamps, 3);
  }
}

TEST_F(PackListOnRanks, NamesTheFileThatIsGone) {
  MadeDataset source(std::vector<std::int64_t>(8, 10));
  const int last = world_.size() - 1;
  source.at_stamp = [&](std::int64_t index) {
    if (index == 7) {
      throw base::DataError("set/7.jpg: cannot be examined: No such file or directory");
    }
  };
  EXPECT_EQ(base::thrown_message<runner::AgreedError>([&] { list(source); }),
            base::host_name() + ": set/7.jpg: cannot be examined: No such file or directory" +
                (last == 0 ? std::string() : " (on rank " + std::to_string(last) + ")"));
}

TEST_F(PackListOnRanks, RefusesASampleOfANegativeSize) {
  const MadeDataset source({1, -5});
  EXPECT_THAT(base::thrown_message<runner::AgreedError>([&] { list(source); }),
              testing::HasSubstr("file 1: expected a size of 0 or more bytes, found -5"));
}

TEST(PackBytes, GrowWithTheDatasetBetweenTheirBounds) {
  EXPECT_EQ(pack_bytes_for(0), 4 << 10);
  EXPECT_EQ(pack_bytes_for(64 * 4096), 4 << 10);
  EXPECT_EQ(pack_bytes_for(64 * 4096 + 1), 8 << 10);
  EXPECT_EQ(pack_bytes_for(std::int64_t{2} << 30), 32 << 20);
  EXPECT_EQ(pack_bytes_for(std::int64_t{1} << 40), 32 << 20);
  EXPECT_EQ(pack_bytes_for(std::int64_t{16} << 40), 64 << 20);  // 2^18 packs
}

TEST(PackCut, AgreesWithAPlainLoopWhereverRanksBegin) {
  const MadeDataset source = MadeDataset::random(1'000'000, 200'000);
  const std::int64_t pack_bytes = 1 << 20;
  std::vector<ListedSample> samples;
  for (std::size_t i = 0; i < source.sizes.size(); ++i) samples.push_back({source.sizes[i], i});
  const auto whole = cut(samples, 0, 0, pack_bytes);
  std::int64_t before = 0;
  std::size_t number = 0;
  for (std::size_t i = 0; i < samples.size(); before += samples[i++].bytes) {
    if (before / pack_bytes != whole[number].key) ++number;
    ASSERT_LT(number, whole.size());
    ASSERT_EQ(before / pack_bytes, whole[number].key);
    ASSERT_LE(whole[number].part.first, static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(number + 1, whole.size());
  // Parts of two ranks are those of one, but for the pack that both have.
  const std::size_t middle = 333'333;
  const std::span all(samples);
  const std::int64_t first_bytes = sum_of(source, 0, middle);
  const auto first = cut(all.first(middle), 0, 0, pack_bytes);
  const auto second = cut(all.subspan(middle), middle, first_bytes, pack_bytes);
  ASSERT_EQ(first.back().key, second.front().key);
  ASSERT_EQ(first.size() + second.size(), whole.size() + 1);
  EXPECT_EQ(first.back().part.bytes + second.front().part.bytes,
            whole[first.size() - 1].part.bytes);
  EXPECT_EQ(first.back().part.stamp + second.front().part.stamp,
            whole[first.size() - 1].part.stamp);
}

}  // namespace
}  // namespace staging
