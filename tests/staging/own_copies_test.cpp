// Tests of who may read and replace staged copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/own_folder.h"
#include "staging/stage_fixture.h"
#include "staging/staged_folder.h"

namespace staging {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

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
  EXPECT_TRUE(fs::exists(elsewhere + "/pack-00000000"));  // nothing is removed through the link
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
  EXPECT_TRUE(fs::exists(planted + "/pack-00000000"));
  on_leader(world_, [&] {
    EXPECT_TRUE(list_staged(directory(topology)).empty());
    remove_all_unused(directory(topology));
    EXPECT_TRUE(fs::exists(planted + "/pack-00000000"));
  });
}

}  // namespace
}  // namespace staging
