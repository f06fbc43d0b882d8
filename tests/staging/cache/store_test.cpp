// Tests of what a process keeps: against the best that any cache could do, within its caps, and
// with damage on disk.
#include "staging/cache/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <thread>

#include "runner/base/random.h"
#include "runner/base/temporary_directory.h"
#include "staging/cache/made_sample.h"
#include "staging/hash.h"
#include "staging/own_folder.h"
#include "staging/staged_folder.h"

namespace cache {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> random_uses(std::uint64_t seed, int ids, int length) {
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
  std::vector<int> uses;
  for (int i = 0; i < length; ++i) {
    uses.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(ids))));
  }
  return uses;
}

std::int64_t next_use(const std::vector<int>& uses, std::size_t now) {
  const auto next =
      std::find(uses.begin() + static_cast<std::ptrdiff_t>(now) + 1, uses.end(), uses[now]);
  return next == uses.end() ? kNever : next - uses.begin();
}

/// The most hits that any cache of `places` places can have, by trying every content.
int most_hits(const std::vector<int>& uses, int ids, int places) {
  const std::uint32_t contents = 1U << ids;
  std::vector<int> best(contents, -1);
  best[0] = 0;
  for (const int use : uses) {
    std::vector<int> after(contents, -1);
    const std::uint32_t bit = 1U << use;
    for (std::uint32_t kept = 0; kept < contents; ++kept) {
      if (best[kept] < 0) continue;
      const int hits = best[kept] + ((kept & bit) != 0 ? 1 : 0);
      // Every subset of what was kept and of what was used.
      const std::uint32_t all = kept | bit;
      for (std::uint32_t chosen = all;; chosen = (chosen - 1) & all) {
        if (std::popcount(chosen) <= places) after[chosen] = std::max(after[chosen], hits);
        if (chosen == 0) break;
      }
    }
    best = std::move(after);
  }
  return *std::max_element(best.begin(), best.end());
}

/// Uses each sample, and puts those that are not there.
int hits_of(Store& store, const std::vector<int>& uses, std::int64_t size) {
  int hits = 0;
  std::vector<std::byte> bytes;
  for (std::size_t now = 0; now < uses.size(); ++now) {
    if (store.get(uses[now], next_use(uses, now), bytes)) {
      ++hits;
      EXPECT_EQ(bytes, sample(uses[now], size));
    } else {
      store.put(uses[now], sample(uses[now], size), next_use(uses, now));
    }
  }
  return hits;
}

/// A folder for disk files.
class StoreOnDisk : public testing::Test {
 protected:
  StoreOnDisk() { staging::make_staging_directory(directory()); }
  std::string directory() const { return (folder_.path() / "near").string(); }
  std::unique_ptr<DiskFiles> disk() const { return std::make_unique<DiskFiles>(directory()); }
  /// The only folder of files that there is.
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(directory())) {
      if (entry.path().extension() == ".sample") found.push_back(entry.path());
    }
    return found;
  }
  const base::TemporaryDirectory folder_;
};

TEST(Store, HasAsManyHitsAsAnyCacheCould) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const int places : {1, 2, 3, 5}) {
      const std::vector<int> uses = random_uses(seed, 8, 80);
      Store store({.memory_bytes = 10 * places}, Policy::kNextUse, nullptr);
      EXPECT_EQ(hits_of(store, uses, 10), most_hits(uses, 8, places)) << seed << ", " << places;
    }
  }
}

TEST_F(StoreOnDisk, HasAsManyHitsOnTwoLevelsAsAnyCacheOfBoth) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (const int in_memory : {0, 1, 2}) {
      const std::vector<int> uses = random_uses(seed, 8, 80);
      Store store({.memory_bytes = 10 * in_memory, .disk_bytes = 10 * (4 - in_memory)},
                  Policy::kNextUse, disk());
      EXPECT_EQ(hits_of(store, uses, 10), most_hits(uses, 8, 4)) << seed << ", " << in_memory;
    }
  }
}

/// Hits of a plain list of the last used.
int lru_hits(const std::vector<int>& uses, std::size_t places) {
  std::list<int> kept;
  int hits = 0;
  for (const int use : uses) {
    const auto found = std::find(kept.begin(), kept.end(), use);
    if (found != kept.end()) {
      ++hits;
      kept.erase(found);
    }
    kept.push_front(use);
    if (kept.size() > places) kept.pop_back();
  }
  return hits;
}

TEST_F(StoreOnDisk, KeepsTheLastUsedIfToldTo) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const std::vector<int> uses = random_uses(seed, 30, 300);
    Store memory({.memory_bytes = 80}, Policy::kLru, nullptr);
    EXPECT_EQ(hits_of(memory, uses, 10), lru_hits(uses, 8));
    Store both({.memory_bytes = 30, .disk_bytes = 50}, Policy::kLru, disk());
    EXPECT_EQ(hits_of(both, uses, 10), lru_hits(uses, 8));
  }
}

TEST(Store, MakesRoomForNothingThatIsUsedLater) {
  Store store({.memory_bytes = 10}, Policy::kNextUse, nullptr);
  std::vector<std::byte> bytes;
  EXPECT_FALSE(store.wants(kNever));
  EXPECT_FALSE(store.put(1, sample(1, 6), kNever));
  EXPECT_TRUE(store.wants(kNever - 1));
  EXPECT_TRUE(store.put(1, sample(1, 6), 20));
  EXPECT_TRUE(store.put(2, sample(2, 4), 30));
  EXPECT_FALSE(store.put(3, sample(3, 5), 25)) << "4 bytes of a later one are not enough";
  EXPECT_FALSE(store.put(4, sample(4, 11), 1));
  EXPECT_FALSE(store.wants(30));
  EXPECT_FALSE(store.wants(29)) << "5 bytes, the mean, are more than the later one has";
  EXPECT_TRUE(store.wants(19));
  EXPECT_TRUE(store.wants(29, 4));
  EXPECT_FALSE(store.wants(29, 5));
  EXPECT_FALSE(store.wants(19, 11));
  EXPECT_TRUE(store.put(5, sample(5, 4), 29));
  EXPECT_FALSE(store.get(2, 99, bytes));
  EXPECT_TRUE(store.get(1, 99, bytes)) << "and from now on it is used late";
  EXPECT_TRUE(store.put(6, sample(6, 6), 98));
  EXPECT_FALSE(store.get(1, 99, bytes));
  EXPECT_EQ(store.samples(), 2);
}

TEST(Store, SharesWhatStaysWithWhoHasIt) {
  Store store({.memory_bytes = 10}, Policy::kNextUse, nullptr);
  EXPECT_EQ(store.share(1, 5), nullptr);
  EXPECT_TRUE(store.put(1, sample(1, 6), 20));
  const Store::Bytes shared = store.share(1, 40);
  ASSERT_NE(shared, nullptr);
  EXPECT_TRUE(store.put(2, sample(2, 6), 30)) << "before the next use that share() noted";
  EXPECT_EQ(store.share(1, 40), nullptr);
  EXPECT_EQ(*shared, sample(1, 6));
}

TEST(Store, TakesASampleWithoutACopy) {
  Store store({.memory_bytes = 10}, Policy::kNextUse, nullptr);
  const auto bytes = std::make_shared<const std::vector<std::byte>>(sample(1, 6));
  EXPECT_FALSE(store.put(1, bytes, kNever));
  EXPECT_TRUE(store.put(1, bytes, 20));
  EXPECT_EQ(store.share(1, 20), bytes);
  EXPECT_TRUE(store.put(1, std::make_shared<const std::vector<std::byte>>(sample(1, 6)), 20));
  EXPECT_EQ(store.share(1, 20), bytes) << "the one that is there stays";
}

TEST(Store, KeepsASampleOnce) {
  Store store({.memory_bytes = 10}, Policy::kNextUse, nullptr);
  EXPECT_TRUE(store.put(1, sample(1, 6), 20));
  EXPECT_TRUE(store.put(1, sample(1, 6), 40));
  EXPECT_EQ(store.samples(), 1);
  EXPECT_EQ(store.kept().memory_bytes, 6);
  EXPECT_TRUE(store.put(2, sample(2, 10), 30)) << "the first is used after it";
}

TEST_F(StoreOnDisk, TellsTheLevelAndMovesWhatIsUsedLaterToDisk) {
  Store store({.memory_bytes = 10, .disk_bytes = 20}, Policy::kNextUse, disk());
  std::vector<std::byte> bytes;
  EXPECT_TRUE(store.put(1, sample(1, 10), 50));
  EXPECT_TRUE(store.put(2, sample(2, 10), 40));
  EXPECT_TRUE(store.put(3, sample(3, 10), 60));
  const auto first = store.get(1, 50, bytes);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->level, Level::kDisk);
  EXPECT_EQ(first->hash, staging::hash_of(sample(1, 10)));
  EXPECT_EQ(store.get(2, 40, bytes)->level, Level::kMemory);
  EXPECT_EQ(store.get(3, 60, bytes)->level, Level::kDisk);
  EXPECT_EQ(bytes, sample(3, 10));
  EXPECT_EQ(files().size(), 2U);
  EXPECT_TRUE(store.put(4, sample(4, 10), 30)) << "the memory's goes to disk, the last there out";
  EXPECT_FALSE(store.get(3, 60, bytes));
  EXPECT_EQ(store.get(2, 40, bytes)->level, Level::kDisk);
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(StoreOnDisk, GivesUpWhatIsDamagedOnDisk) {
  Store store({.disk_bytes = 20}, Policy::kNextUse, disk());
  std::vector<std::byte> bytes;
  EXPECT_TRUE(store.put(1, sample(1, 10), 50));
  EXPECT_TRUE(store.put(2, sample(2, 10), 50));
  ASSERT_EQ(files().size(), 2U);
  std::ofstream(files()[0]) << "too short";
  std::fstream(files()[1], std::ios::in | std::ios::out) << "?";
  EXPECT_FALSE(store.get(1, 60, bytes));
  EXPECT_FALSE(store.get(2, 60, bytes));
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(store.samples(), 0);
  std::vector<std::string> remarks;
  store.take_remarks_into(remarks);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("differs from the sample that was kept; read anew "
                                             "(and 1 more such)")));
  EXPECT_TRUE(store.put(1, sample(1, 10), 70));
  EXPECT_TRUE(store.get(1, 80, bytes));
}

TEST_F(StoreOnDisk, GrowsNoMoreWhenTheDiskRefuses) {
  Store store({.disk_bytes = 100}, Policy::kNextUse, disk());
  std::vector<std::byte> bytes;
  EXPECT_TRUE(store.put(1, sample(1, 10), 50));
  fs::rename(files().front().parent_path(), folder_.path() / "away");
  store.put(2, sample(2, 10), 50);
  EXPECT_FALSE(store.get(2, 60, bytes));
  std::vector<std::string> remarks;
  store.take_remarks_into(remarks);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("cannot be created")));
  EXPECT_FALSE(store.put(3, sample(3, 10), 70));
  EXPECT_LE(store.kept().disk_bytes, 10);
  store.take_remarks_into(remarks);
  EXPECT_EQ(remarks.size(), 1U);
}

TEST_F(StoreOnDisk, IsRemovedWithItsProcess) {
  std::string mine;
  {
    const DiskFiles files(directory());
    mine = files.folder();
    files.write(1, sample(1, 10));
    EXPECT_EQ(fs::status(mine).permissions(), fs::perms::owner_all);
    staging::remove_leftovers(directory());
    EXPECT_TRUE(fs::exists(mine)) << "it is in use";
  }
  EXPECT_FALSE(fs::exists(mine));
  const pid_t child = ::fork();
  if (child == 0) {
    static const DiskFiles* files = new DiskFiles(directory());
    files->write(1, sample(1, 10));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(files().size(), 1U);
  staging::remove_leftovers(directory());
  EXPECT_TRUE(fs::is_empty(directory()));
}

TEST_F(StoreOnDisk, StaysWithinItsCapsWithManyThreads) {
  constexpr std::int64_t kMemory = 300, kDisk = 500, kThreads = 4;
  Store store({kMemory, kDisk}, Policy::kNextUse, disk());
  std::atomic<int> working{kThreads}, hits{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      base::RandomStream random(thread, base::Purpose::kGenerate, 0, 0);
      std::vector<std::byte> bytes;
      for (int i = 0; i < 2000; ++i) {
        const auto index = static_cast<std::int64_t>(random.below(60));
        const auto next = static_cast<std::int64_t>(random.below(1000));
        if (store.get(index, next, bytes)) {
          ++hits;
          EXPECT_EQ(bytes, sample(index, index + 1));
        } else {
          store.put(index, sample(index, index + 1), next);
        }
      }
      --working;
    });
  }
  while (working > 0) {
    const Caps kept = store.kept();
    EXPECT_LE(kept.memory_bytes, kMemory);
    EXPECT_LE(kept.disk_bytes, kDisk);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(hits, 1000);
  std::uintmax_t on_disk = 0;
  for (const fs::path& file : files()) on_disk += fs::file_size(file);
  EXPECT_EQ(static_cast<std::int64_t>(on_disk), store.kept().disk_bytes);
}

}  // namespace
}  // namespace cache
