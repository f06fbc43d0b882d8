// Tests of paths into archives.
#include "runner/base/archive_path.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runner/base/temporary_directory.h"

namespace base {
namespace {

class ArchivePaths : public testing::Test {
 protected:
  void expect_parts(const std::string& path, const std::string& below) const {
    const auto found = archive_path(path);
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(found->file, file_);
    EXPECT_EQ(found->below, below);
    EXPECT_EQ(file_at(path), file_);
  }
  const TemporaryDirectory folder_;
  const std::string file_ = folder_.write("folder/data.tar", "x");
};

TEST_F(ArchivePaths, AreCutAfterTheFile) {
  expect_parts(file_, "");
  expect_parts(file_ + "/", "");
  expect_parts(file_ + "/train", "train");
  expect_parts(file_ + "//a/b c/train/", "a/b c/train");
}

TEST_F(ArchivePaths, AreNoneWithoutAFile) {
  const std::string folder = folder_.path().string();
  for (const std::string& path : {folder, folder + "/folder", folder + "/none", folder + "/none/x",
                                  std::string("/"), std::string(), std::string("none/train")}) {
    EXPECT_FALSE(archive_path(path)) << path;
    EXPECT_EQ(file_at(path), path);
  }
}

TEST_F(ArchivePaths, FollowLinks) {
  const std::string link = (folder_.path() / "link").string();
  std::filesystem::create_symlink(file_, link);
  EXPECT_EQ(archive_path(link + "/train")->file, link);
}

}  // namespace
}  // namespace base
