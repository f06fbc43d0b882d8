// Tests of the lifetime of staged copies: which are removed, reused, kept, or left alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "runner/base/system_facts.h"
#include "runner/base/thrown_message.h"
#include "staging/folder_use.h"
#include "staging/manifest.h"
#include "staging/own_folder.h"
#include "staging/stage_fixture.h"
#include "staging/staged_folder.h"

namespace staging {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(StagingOnRanks, RemovesWhatADeadProcessBegan) {
  const runner::Topology topology = nodes(1);
  const std::string other = directory(topology) + "/x-2.part." + base::host_name() + ".4194999";
  std::string begun;
  on_leader(world_, [&] {
    fs::create_directories(other);
    std::ofstream(other + "/precious").put('x');
    begun = begin_folder(directory(topology) + "/x-1").folder();
    std::ofstream(begun + "/part-0.bin").put('x');
  });
  stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_FALSE(!begun.empty() && fs::exists(begun));
  EXPECT_TRUE(fs::exists(other + "/precious"));
}

TEST_F(StagingOnRanks, LeavesAloneWhatALivingProcessBegins) {
  const runner::Topology topology = nodes(1);
  std::optional<FolderUse> mine;
  on_leader(world_, [&] {
    fs::create_directories(directory(topology));
    mine = begin_folder(directory(topology) + "/x-1");
  });
  stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_TRUE(!mine || fs::exists(mine->folder()));
}

TEST_F(StagingOnRanks, GivesTwoProcessesOfOneNumberTwoFolders) {
  if (world_.rank() != 0) return;
  fs::create_directories(root_ + "/node0");
  const FolderUse one = begin_folder(root_ + "/node0/x-1");
  const FolderUse other = begin_folder(root_ + "/node0/x-1");
  EXPECT_NE(one.folder(), other.folder());
}

TEST_F(StagingOnRanks, RemovesWholeCopiesOfDeadJobs) {
  const runner::Topology topology = nodes(2);
  const std::string left = die_with_copy(topology, 4);
  EXPECT_TRUE(fs::exists(left));
  world_.barrier();
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(5), {{0, 5}});
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(staged.directory));
}

TEST_F(StagingOnRanks, RemovesAtItsEndTheCopyOfADeadJobThatItUsedAgain) {
  const runner::Topology topology = nodes(2);
  die_with_copy(topology, 4);
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_EQ(staged.facts["reused_nodes"], topology.node_count);
  staged.leave();
  EXPECT_TRUE(fs::is_empty(directory(topology)));
}

TEST_F(StagingOnRanks, KeepsWhatWasStagedToBeKept) {
  const runner::Topology topology = nodes(2);
  const std::string kept = die_with_copy(topology, 4, Afterwards::kKeep);
  stage_on(topology, std::make_shared<MemoryDataset>(5), {{0, 5}});
  EXPECT_TRUE(fs::exists(kept));
  const Copied again = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_EQ(again.facts["reused_nodes"], topology.node_count);
  again.leave();
  EXPECT_TRUE(fs::exists(kept));
}

TEST_F(StagingOnRanks, KeepsACopyFromWhenSomebodyAsksForIt) {
  const runner::Topology topology = nodes(1);
  const std::string left = die_with_copy(topology, 4);
  const Copied again =
      stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}}, Afterwards::kKeep);
  again.leave();
  EXPECT_TRUE(read_manifest(left).is_kept);
}

TEST_F(StagingOnRanks, LeavesACopyToTheLastThatUsesIt) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(4);
  const Copied one = stage_on(topology, source, {{0, 4}});
  const Copied other = stage_on(topology, source, {{0, 4}});
  stage_on(topology, std::make_shared<MemoryDataset>(5), {{0, 5}});  // looks for leftovers
  one.leave();
  EXPECT_TRUE(fs::exists(other.directory));
  other.leave();
  EXPECT_FALSE(fs::exists(other.directory));
}

TEST_F(StagingOnRanks, EndsItsUseWhenItIsDestroyed) {
  const runner::Topology alone = nodes(world_.size());
  const std::string kept =
      stage_on(alone, std::make_shared<MemoryDataset>(4), {{0, 4}}, Afterwards::kKeep).directory;
  stage_on(alone, std::make_shared<MemoryDataset>(5), {{0, 5}});
  EXPECT_EQ(std::distance(fs::directory_iterator(directory(alone)), {}), 1);
  EXPECT_TRUE(fs::exists(kept));
  world_.barrier();

  // Other ranks of a node may still read, so that the next run removes it.
  const runner::Topology together = nodes(1);
  const std::string left =
      stage_on(together, std::make_shared<MemoryDataset>(6), {{0, 6}}).directory;
  on_leader(world_, [&] {
    for (const StagedFolder& folder : list_staged(directory(together))) {
      EXPECT_FALSE(folder.is_used);
    }
    EXPECT_EQ(fs::exists(left), world_.size() > 1);
  });
}

TEST_F(StagingOnRanks, SetsAsideWhatStandsInItsPlaceAndIsNoSet) {
  const runner::Topology topology = nodes(1);
  const std::string left = die_with_copy(topology, 4);
  on_leader(world_, [&] { std::ofstream(left + "/manifest.json") << "{"; });
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_EQ(content(*staged.data, 3), MemoryDataset::text(3));
  int aside = 0;
  for (const auto& entry : fs::directory_iterator(directory(topology))) {
    aside += entry.path().string().find(".not-staged.") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(aside, 1);
}

TEST_F(StagingOnRanks, TakesThePlaceOfADamagedSetWithAForeignFile) {
  const runner::Topology topology = nodes(1);
  const std::string left = die_with_copy(topology, 4, Afterwards::kKeep);
  on_leader(world_, [&] {
    std::ofstream(left + "/thesis.txt").put('x');
    fs::remove(left + "/part-0.bin");
  });
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_EQ(staged.directory, left);
  EXPECT_EQ(content(*staged.data, 3), MemoryDataset::text(3));
}

TEST_F(StagingOnRanks, TakesThePlaceOfAFileAndOfALinkThatLeadsNowhere) {
  const runner::Topology topology = nodes(1);
  const std::string left = die_with_copy(topology, 4);
  for (const bool is_link : {false, true}) {
    on_leader(world_, [&] {
      fs::remove_all(left);
      if (is_link) {
        fs::create_symlink("nowhere", left);
      } else {
        std::ofstream(left).put('x');
      }
    });
    const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
    EXPECT_EQ(staged.directory, left);
    EXPECT_EQ(content(*staged.data, 3), MemoryDataset::text(3));
    world_.barrier();
  }
}

TEST_F(StagingOnRanks, TrustsNoManifestWhoseCountsDoNotAddUp) {
  const runner::Topology topology = nodes(1);
  const std::string left = die_with_copy(topology, 4, Afterwards::kKeep);
  on_leader(world_, [&] {
    for (const std::int64_t samples : {std::int64_t{1} << 62, std::int64_t{-5}}) {
      Manifest manifest = read_manifest(left);
      manifest.samples = samples;
      write_manifest(left, manifest);
      EXPECT_THAT(base::thrown_message<base::DataError>([&] { read_manifest(left); }),
                  HasSubstr("manifest.json: not a manifest: expected"));
      manifest.samples = 4;
      write_manifest(left, manifest);
    }
    // Sums of 64 bits, which are 0 again after 2^14 such parts.
    Manifest vast = read_manifest(left);
    vast.parts.assign(1 << 14, {"a", "b", std::int64_t{1} << 50, 0, ""});
    vast.samples = vast.bytes = 0;
    write_manifest(left, vast);
    EXPECT_THAT(base::thrown_message<base::DataError>([&] { read_manifest(left); }),
                HasSubstr("expected at most 1125899906842624 samples and bytes in all"));
    fs::resize_file(left + "/manifest.json", std::uintmax_t{1} << 32);  // a sparse file
    EXPECT_THAT(base::thrown_message<base::DataError>([&] { read_manifest(left); }),
                HasSubstr("found 4294967296"));
  });
}

TEST_F(StagingOnRanks, RefusesAManifestThatIsNoneInItsOwnWords) {
  const runner::Topology topology = nodes(1);
  const std::string left = die_with_copy(topology, 4, Afterwards::kKeep);
  const std::string path = left + "/manifest.json";
  on_leader(world_, [&] {
    for (const auto& [text, told] : std::map<std::string, std::string>{
             {R"({"samples": 4, "samples": 5})", "/samples: duplicate key"},
             {std::string(1000, '['), "nested deeper than 200 levels"},
             {"{}", "its JSON: /format: is required"},
             {R"({"format": 1})", "its JSON: /format: must be a string, got 1"}}) {
      std::ofstream(path) << text;
      EXPECT_THAT(base::thrown_message<base::DataError>([&] { read_manifest(left); }),
                  AllOf(StartsWith(path + ": not a manifest: its JSON: "), HasSubstr(told),
                        Not(HasSubstr("exception"))));
    }
  });
}

TEST_F(StagingOnRanks, IsNotStoppedByALeftoverWithAForeignFile) {
  const runner::Topology topology = nodes(1);
  const std::string left = die_with_copy(topology, 4);
  on_leader(world_, [&] { std::ofstream(left + "/thesis.txt").put('x'); });
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(5), {{0, 5}});
  EXPECT_EQ(content(*staged.data, 3), MemoryDataset::text(3));
}

TEST_F(StagingOnRanks, TellsWhichCopiesAreDamaged) {
  const runner::Topology topology = nodes(1);
  const std::string damaged = die_with_copy(topology, 4, Afterwards::kKeep);
  const std::string whole = die_with_copy(topology, 5, Afterwards::kKeep);
  on_leader(world_, [&] {
    std::fstream(damaged + "/part-0.bin", std::ios::in | std::ios::out | std::ios::binary).put('?');
    for (const StagedFolder& folder : list_staged(directory(topology))) {
      EXPECT_EQ(folder.damage, "");
    }
    for (const StagedFolder& folder : verify_staged(directory(topology))) {
      EXPECT_EQ(folder.damage.empty(), folder.directory == whole);
      if (folder.directory == damaged) {
        EXPECT_THAT(folder.damage, HasSubstr("bytes of sample "));
      }
    }
    for (const StagedFolder& folder : list_staged(directory(topology))) {
      EXPECT_EQ(folder.damage.empty(), folder.directory == whole);
    }
  });
}

TEST_F(StagingOnRanks, RemovesByHandWhatNobodyUses) {
  const runner::Topology topology = nodes(1);
  const std::string kept = die_with_copy(topology, 4, Afterwards::kKeep);
  const Copied used = stage_on(topology, std::make_shared<MemoryDataset>(5), {{0, 5}});
  on_leader(world_, [&] {
    fs::create_directories(directory(topology) + "/precious");
    const auto list = list_staged(directory(topology));
    ASSERT_EQ(list.size(), 2U);
    EXPECT_NE(list[0].is_used, list[1].is_used);
    EXPECT_THAT(list[0].manifest.made_by, HasSubstr("process "));
    const auto found = remove_all_unused(directory(topology));
    for (const StagedFolder& folder : found) EXPECT_NE(folder.is_removed, folder.is_used);
    EXPECT_FALSE(fs::exists(kept));
    EXPECT_TRUE(fs::exists(used.directory));
    EXPECT_TRUE(fs::exists(directory(topology) + "/precious"));
  });
}

TEST_F(StagingOnRanks, DeletesNothingWithoutItsManifest) {
  const runner::Topology topology = nodes(1);
  const std::string precious = root_ + "/precious";
  on_leader(world_, [&] {
    fs::create_directories(precious);
    std::ofstream(precious + "/thesis.txt").put('x');
  });
  if (world_.rank() == 0) {
    EXPECT_THROW(remove_folder(precious), base::DataError);
    std::ofstream(precious + "/manifest.json")
        << R"({"format":"trainmark-staged-1","identity":"x","source":"y","samples":1,"bytes":1,
               "parts":[{"file":"../other","index_file":"a","samples":1,"bytes":1,"index_hash":""}]})";
    EXPECT_THAT(base::thrown_message<base::DataError>([&] { remove_folder(precious); }),
                HasSubstr("a part named '../other'"));
    EXPECT_TRUE(fs::exists(precious + "/thesis.txt"));
  }
}

TEST_F(StagingOnRanks, KeepsFilesThatTheManifestDoesNotName) {
  const runner::Topology topology = nodes(1);
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  on_leader(world_, [&] {
    std::ofstream(staged.directory + "/thesis.txt").put('x');
    EXPECT_THROW(remove_folder(staged.directory), base::SystemError);
    int kept = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory(topology))) {
      kept += entry.path().filename() == "thesis.txt" ? 1 : 0;
    }
    EXPECT_EQ(kept, 1);
  });
}

fs::perms mode_of(const std::string& path) { return fs::status(path).permissions(); }

TEST_F(StagingOnRanks, HidesCopiesFromOtherUsers) {
  const runner::Topology topology = nodes(2);
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_EQ(mode_of(staged.directory), fs::perms::owner_all);
  EXPECT_EQ(mode_of(directory(topology)), fs::perms::owner_all);
}

TEST_F(StagingOnRanks, UsesNoCopyThatOthersMayWriteTo) {
  const runner::Topology topology = nodes(1);
  for (const fs::perms writers : {fs::perms::others_write, fs::perms::group_write}) {
    const std::string left = die_with_copy(topology, 4, Afterwards::kKeep);
    on_leader(world_, [&] { fs::permissions(left, writers, fs::perm_options::add); });
    const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
    EXPECT_EQ(staged.facts["reused_nodes"], 0);
    EXPECT_EQ(content(*staged.data, 3), MemoryDataset::text(3));
  }
}

TEST_F(StagingOnRanks, UsesNoCopyBehindALink) {
  const runner::Topology topology = nodes(1);
  const std::string left = die_with_copy(topology, 4, Afterwards::kKeep);
  const std::string elsewhere = root_ + "/elsewhere";
  on_leader(world_, [&] {
    fs::rename(left, elsewhere);
    fs::create_symlink(elsewhere, left);
  });
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_EQ(staged.facts["reused_nodes"], 0);
  EXPECT_TRUE(fs::exists(elsewhere + "/part-0.bin"));  // nothing is removed through the link
}

TEST_F(StagingOnRanks, RefusesAFolderInWhichAnybodyCouldReplaceSamples) {
  if (world_.rank() != 0) return;
  const std::string folder = root_ + "/open";
  make_staging_directory(folder);
  fs::permissions(folder, fs::perms::all);
  EXPECT_THAT(base::thrown_message<base::SystemError>([&] { make_staging_directory(folder); }),
              HasSubstr("/open: every user may write to this folder"));
  fs::permissions(folder, fs::perms::all | fs::perms::sticky_bit);
  make_staging_directory(folder);
  check_staging_directory(root_ + "/missing");
  std::ofstream(root_ + "/file").put('x');
  EXPECT_THAT(
      base::thrown_message<base::SystemError>([&] { make_staging_directory(root_ + "/file"); }),
      HasSubstr("/file: expected a folder for staged copies"));
}

constexpr uid_t kAnotherUser = 1234;

TEST_F(StagingOnRanks, RefusesTheFolderOfAnotherUser) {
  if (world_.rank() != 0) return;
  const std::string folder = root_ + "/planted", link = root_ + "/link";
  make_staging_directory(folder);
  fs::create_symlink(folder, link);
  check_staging_directory(link);
  if (::lchown(folder.c_str(), kAnotherUser, kAnotherUser) != 0) return;  // only root may
  for (const std::string& path : {folder, link}) {
    EXPECT_THAT(base::thrown_message<base::SystemError>([&] { check_staging_directory(path); }),
                HasSubstr("found one of uid 1234, who could replace staged samples"));
  }
}

TEST_F(StagingOnRanks, LeavesTheNameThatAnotherUserHasTaken) {
  const runner::Topology topology = nodes(1);
  const std::string planted = die_with_copy(topology, 4, Afterwards::kKeep);
  bool is_planted = false;
  on_leader(world_, [&] {
    is_planted = ::lchown(planted.c_str(), kAnotherUser, kAnotherUser) == 0;  // only root may
  });
  if (world_.broadcast(is_planted ? "yes" : "", 0).empty()) return;
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_EQ(staged.facts["reused_nodes"], 0);
  EXPECT_EQ(staged.directory, planted + "-" + std::to_string(::geteuid()));
  world_.barrier();
  staged.leave();
  EXPECT_FALSE(fs::exists(staged.directory));
  EXPECT_TRUE(fs::exists(planted + "/part-0.bin"));
  on_leader(world_, [&] {
    EXPECT_TRUE(list_staged(directory(topology)).empty());
    remove_all_unused(directory(topology));
    EXPECT_TRUE(fs::exists(planted + "/part-0.bin"));
  });
}

}  // namespace
}  // namespace staging
