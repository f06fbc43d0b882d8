// Files are replaced atomically; devices and links are not.
#include "runner/base/replaced_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/base/temporary_directory.h"

namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::ptrdiff_t files_in(const base::TemporaryDirectory& folder) {
  return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
}

TEST(ReplacedFile, IsInPlaceOnlyWhenFinished) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.write("a.json", "old");
  base::ReplacedFile file(path);
  file.write("new ");
  file.write("text");
  EXPECT_EQ(content(path), "old");
  file.finish();
  EXPECT_EQ(content(path), "new text");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(ReplacedFile, LeavesWhatWasThereWhenItIsGivenUp) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.write("a.json", "old");
  base::ReplacedFile(path).write("new");
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(WriteFile, ReplacesTheWholeFileAndLeavesNothingElse) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.write("a.json", "a long old text");
  base::write_file(path, "new");
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(WriteFile, FollowsALink) {
  const base::TemporaryDirectory folder;
  const std::string path = folder.write("a.json", "old");
  fs::create_symlink(path, folder.path() / "link");
  base::write_file((folder.path() / "link").string(), "new");
  EXPECT_EQ(content(path), "new");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
}

TEST(ReplaceFile, TakesThePlaceOfALinkOrAPipe) {
  const base::TemporaryDirectory folder;
  const std::string secret = folder.write("secret", "precious");
  const std::string link = folder.path() / "link", pipe = folder.path() / "pipe";
  fs::create_symlink(secret, link);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {link, pipe, (folder.path() / "absent").string()}) {
    base::replace_file(path, "new");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path))) << path;
    EXPECT_EQ(content(path), "new");
  }
  EXPECT_EQ(content(secret), "precious");
}

TEST(WriteFile, FollowsNoLinkInTheWayOfItsUnfinishedFile) {
  const base::TemporaryDirectory folder;
  const std::string secret = folder.write("secret", "precious");
  const std::string path = (folder.path() / "a.json").string();
  for (const std::string& name :
       {fmt::format("{}.partial.{}.{}", path, base::host_name(), ::getpid()), path + ".new"}) {
    fs::create_symlink(secret, name);
  }
  base::write_file(path, "new");
  EXPECT_EQ(content(path), "new");
  const base::Descriptor part = base::open_part(path + ".new");
  ASSERT_TRUE(part);
  EXPECT_EQ(::write(part.get(), "x", 1), 1);
  EXPECT_FALSE(fs::is_symlink(path + ".new"));
  EXPECT_EQ(content(secret), "precious");
}

TEST(WriteFile, KeepsTheModeOfWhatItReplaces) {
  const base::TemporaryDirectory folder;
  const auto mode_of = [](const std::string& path) {
    return static_cast<unsigned>(fs::status(path).permissions()) & 0777U;
  };
  const std::string path = folder.write("a.json", "old");
  for (const unsigned mode : {0600U, 0666U, 0640U}) {
    fs::permissions(path, static_cast<fs::perms>(mode));
    base::write_file(path, "new");
    EXPECT_EQ(mode_of(path), mode);
  }
}

TEST(WriteFile, LeavesADeviceADevice) {
  base::write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(base::write_file("/dev/full", "text"), base::SystemError);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(WriteFile, NamesWhatCannotBeWritten) {
  const base::TemporaryDirectory folder;
  EXPECT_THROW(base::write_file((folder.path() / "absent" / "a").string(), "x"), base::SystemError);
  EXPECT_THROW(base::write_file(folder.path().string(), "x"), base::SystemError);
}

}  // namespace
