// Tests of the lifetime of staged copies: which are removed, reused, kept, or left alone.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "runner/base/system_facts.h"
#include "runner/base/thrown_message.h"
#include "staging/folder_use.h"
#include "staging/own_folder.h"
#include "staging/set_record.h"
#include "staging/stage_fixture.h"
#include "staging/staged_folder.h"

namespace staging {
namespace {

using testing::HasSubstr;

/// A folder that is about to become a set, as this process would create it.
FolderUse part_folder(const std::string& directory) {
  const std::string folder = fmt::format("{}.part.{}.{}", directory, base::host_name(), ::getpid());
  create_own_folder(folder);
  std::ofstream(folder + "/begun-by-trainmark").put('x');
  return FolderUse::in_new_folder(folder);
}

TEST_F(StagingOnRanks, RemovesWhatADeadProcessBegan) {
  const runner::Topology topology = nodes(1);
  const std::string other = directory(topology) + "/x-2.part." + base::host_name() + ".4194999";
  std::string begun;
  on_leader(world_, [&] {
    fs::create_directories(other);
    std::ofstream(other + "/precious").put('x');
    begun = part_folder(directory(topology) + "/x-1").folder();
    std::ofstream(begun + "/begun.json").put('x');
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
    mine = part_folder(directory(topology) + "/x-1");
  });
  stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_TRUE(!mine || fs::exists(mine->folder()));
}

TEST_F(StagingOnRanks, BeginsWhereAProcessOfTheSameNumberBegins) {
  const runner::Topology topology = nodes(1);
  std::optional<FolderUse> other;
  std::string left = die_with_copy(topology, 4);
  on_leader(world_, [&] {
    fs::remove_all(left);
    other = part_folder(left);
  });
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_EQ(content(*staged.data, 3), MemoryDataset::text(3));
  EXPECT_TRUE(!other || fs::exists(other->folder()));
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
  EXPECT_TRUE(read_record(left).is_kept);
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
  on_leader(world_, [&] { std::ofstream(left + "/begun.json") << "{"; });
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  EXPECT_EQ(content(*staged.data, 3), MemoryDataset::text(3));
  int aside = 0;
  for (const auto& entry : fs::directory_iterator(directory(topology))) {
    aside += entry.path().string().find(".not-staged.") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(aside, 1);
  const auto remarks = staged.data->take_remarks();
  ASSERT_EQ(remarks.size(), topology.is_node_leader() ? 1U : 0U);
  for (const std::string& remark : remarks) {
    EXPECT_THAT(remark, testing::StartsWith(left +
                                            ": expected a staged set, found something else, "
                                            "which is now " +
                                            left + ".not-staged."));
    EXPECT_THAT(remark, testing::HasSubstr("/begun.json: "));
  }
}

TEST_F(StagingOnRanks, TakesThePlaceOfADamagedSetWithAForeignFile) {
  const runner::Topology topology = nodes(1);
  const std::string left = die_with_copy(topology, 4, Afterwards::kKeep);
  on_leader(world_, [&] {
    std::ofstream(left + "/thesis.txt").put('x');
    std::ofstream(left + "/begun.json") << "{";
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

/// Writes a set of the format that had a file for each rank.
void write_former_set(const std::string& folder, bool is_kept) {
  create_own_folder(folder);
  FolderUse::in_new_folder(folder);
  std::ofstream(folder + "/part-0.bin") << "samples";
  std::ofstream(folder + "/part-0.index") << "index";
  std::ofstream(folder + "/damaged").flush();
  std::ofstream(folder + "/manifest.json")
      << R"({"format": "trainmark-staged-1", "identity": "x", "source": "/old", "samples": 3,
             "bytes": 7, "made_by": "job 1", "parts": [], "keep": )"
      << (is_kept ? "true}" : "false}");
}

TEST_F(StagingOnRanks, RemovesCopiesOfTheFormerFormat) {
  const runner::Topology topology = nodes(1);
  const std::string folder = directory(topology);
  on_leader(world_, [&] {
    make_staging_directory(folder);
    write_former_set(folder + "/left", false);
    write_former_set(folder + "/kept", true);
  });
  stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  on_leader(world_, [&] {
    EXPECT_FALSE(fs::exists(folder + "/left"));
    const auto list = verify_staged(folder);
    const auto kept = std::find_if(list.begin(), list.end(),
                                   [](const StagedFolder& one) { return one.record.is_former(); });
    ASSERT_NE(kept, list.end());
    EXPECT_EQ(kept->record.source, "/old");
    EXPECT_EQ(to_json(*kept)["bytes"], 7);
    remove_all_unused(folder);
    EXPECT_FALSE(fs::exists(folder + "/kept"));
  });
}

TEST_F(StagingOnRanks, ListsACopyThatIsNotComplete) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(50);
  const std::string left = die_with_copy(topology, 50, Afterwards::kKeep);
  on_leader(world_, [&] {
    fs::remove(left + "/manifest.json");
    fs::remove(pack_files(left).back());
    const auto list = list_staged(directory(topology));
    ASSERT_EQ(list.size(), 1U);
    EXPECT_FALSE(list[0].is_complete);
    EXPECT_EQ(list[0].damage, "");
    EXPECT_GT(list[0].samples, 0);
    EXPECT_LT(list[0].samples, 50);
    EXPECT_EQ(to_json(list[0])["is_complete"], false);
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
    std::fstream(pack_files(damaged).front(), std::ios::in | std::ios::out | std::ios::binary)
        .put('?');
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
  // The next run copies the pack anew, without reading the others in full.
  const auto source = std::make_shared<MemoryDataset>(4);
  const Copied staged = stage_on(topology, source, {{0, 4}}, Afterwards::kKeep);
  EXPECT_EQ(staged.facts["reused"], false);
  on_leader(world_, [&] {
    for (const StagedFolder& folder : verify_staged(directory(topology))) {
      EXPECT_EQ(folder.damage, "");
    }
  });
}

TEST_F(StagingOnRanks, LeavesDamagedPacksToWhoUsesThem) {
  const runner::Topology topology = nodes(1);
  const Copied used = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  on_leader(world_, [&] {
    overwrite_samples(used.directory);
    const auto list = verify_staged(directory(topology));
    ASSERT_EQ(list.size(), 1U);
    EXPECT_THAT(list[0].damage, HasSubstr("bytes of sample "));
    EXPECT_FALSE(pack_files(used.directory).empty());
    EXPECT_EQ(content(*used.data, 3), MemoryDataset::text(3));
    EXPECT_THAT(used.data->take_remarks(), testing::ElementsAre(HasSubstr("; repaired from")));
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
    EXPECT_THAT(list[0].record.made_by, HasSubstr("process "));
    const auto found = remove_all_unused(directory(topology));
    for (const StagedFolder& folder : found) EXPECT_NE(folder.is_removed, folder.is_used);
    EXPECT_FALSE(fs::exists(kept));
    EXPECT_TRUE(fs::exists(used.directory));
    EXPECT_TRUE(fs::exists(directory(topology) + "/precious"));
  });
}

TEST_F(StagingOnRanks, DeletesNothingWithoutItsRecord) {
  const std::string precious = root_ + "/precious";
  on_leader(world_, [&] {
    fs::create_directories(precious);
    std::ofstream(precious + "/thesis.txt").put('x');
  });
  if (world_.rank() == 0) {
    EXPECT_THROW(remove_folder(precious), base::DataError);
    std::ofstream(precious + "/begun.json")
        << R"({"format": "trainmark-staged-2", "identity": "0123456789abcdef", "source": "y",
               "packs": 1, "samples": 1})";
    EXPECT_THAT(base::thrown_message<base::DataError>([&] { remove_folder(precious); }),
                HasSubstr("/bytes: is required"));
    EXPECT_TRUE(fs::exists(precious + "/thesis.txt"));
  }
}

TEST_F(StagingOnRanks, KeepsFilesThatAreNotOfTheSet) {
  const runner::Topology topology = nodes(1);
  const Copied staged = stage_on(topology, std::make_shared<MemoryDataset>(4), {{0, 4}});
  on_leader(world_, [&] {
    std::ofstream(staged.directory + "/thesis.txt").put('x');
    std::ofstream(staged.directory + "/pack-00000099").put('x');  // beyond the set's last
    EXPECT_THROW(remove_folder(staged.directory), base::SystemError);
    int kept = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory(topology))) {
      kept += entry.is_regular_file() ? 1 : 0;
    }
    EXPECT_EQ(kept, 2);
  });
}

}  // namespace
}  // namespace staging
