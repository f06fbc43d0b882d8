// Files of generated datasets: whole or not there, and written through no link.
#include "staging/generated_files.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "runner/base/content.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

class GeneratedFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name) const {
    write_generated(path(name), std::as_bytes(std::span(kText)));
  }

  static constexpr std::array kText = {'n', 'e', 'w'};
  const base::TemporaryDirectory folder_;
};

TEST_F(GeneratedFiles, FollowNoLinkInTheWay) {
  const std::string precious = folder_.write("thesis.txt", "years of work");
  fs::create_symlink(precious, path("a.h5~"));
  write("a.h5");
  EXPECT_EQ(base::content(path("a.h5")), "new");
  EXPECT_EQ(base::content(precious), "years of work");
  EXPECT_FALSE(fs::exists(fs::symlink_status(path("a.h5~"))));
}

TEST_F(GeneratedFiles, TellWhatTheSystemRefused) {
  EXPECT_EQ(base::thrown_message<base::SystemError>([&] { write("absent/a.h5"); }),
            path("absent/a.h5") + ": cannot be created: No such file or directory");
  fs::create_directory(path("b.h5"));
  EXPECT_EQ(base::thrown_message<base::SystemError>([&] { write("b.h5"); }),
            path("b.h5") + ": cannot be put in place: Is a directory");
}

}  // namespace
}  // namespace staging
