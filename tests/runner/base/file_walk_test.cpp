// Walking the files of folders.
#include "runner/base/file_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runner/base/temporary_directory.h"

namespace {

using base::WalkShare;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

std::vector<std::string> walked(const std::string& path, WalkShare share = {}) {
  std::vector<std::string> files;
  base::walk_files(path, share, [&](const std::string& file) {
    files.push_back(file);
    return true;
  });
  return files;
}

TEST(FileWalk, SharesOutTheFilesOfAllFolders) {
  const base::TemporaryDirectory folder;
  std::vector<std::string> all = {folder.write("list.txt", "l")};
  for (const char* const name : {"a/1", "a/2", "b/1", "c/1", "d/deep/1", "e/1", "f/1"}) {
    all.push_back(folder.write(name, "x"));
  }
  EXPECT_THAT(walked(folder.path().string()), UnorderedElementsAreArray(all));
  std::vector<std::string> together;
  for (std::int64_t index = 0; index < 3; ++index) {
    const auto part = walked(folder.path().string(), {index, 3});
    EXPECT_LT(part.size(), all.size());
    together.insert(together.end(), part.begin(), part.end());
  }
  EXPECT_THAT(together, UnorderedElementsAreArray(all));
}

TEST(FileWalk, GivesAFileToOneCaller) {
  const base::TemporaryDirectory folder;
  const std::string file = folder.write("train.tar", "t");
  EXPECT_THAT(walked(file), ElementsAre(file));
  EXPECT_EQ(walked(file, {0, 2}).size() + walked(file, {1, 2}).size(), 1U);
  EXPECT_THAT(walked(file + ".absent"), IsEmpty());
}

TEST(FileWalk, EndsWhenTold) {
  const base::TemporaryDirectory folder;
  for (const char* const name : {"a/1", "a/2", "b/1", "c/1"}) folder.write(name, "x");
  int visits = 0;
  base::walk_files(folder.path().string(), {}, [&](const std::string&) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
}

TEST(FileWalk, EndsWhereLinksGoRound) {
  const base::TemporaryDirectory folder;
  folder.write("a/1", "x");
  std::filesystem::create_directory_symlink(folder.path(), folder.path() / "a/again");
  EXPECT_EQ(walked(folder.path().string()).size(), 2U);
}

}  // namespace
