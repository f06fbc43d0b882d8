// Tests of claiming result files, also by racing processes.
#include "runner/result_files.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

class ResultFilesTest : public testing::Test {
 protected:
  const base::TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
};

TEST_F(ResultFilesTest, CountsUpFromOneAndMakesTheFolder) {
  const std::string folder = folder_ / "box" / "toy";
  const ResultFiles first = ResultFiles::claim(folder);
  const ResultFiles second = ResultFiles::claim(folder);
  EXPECT_EQ(first.number(), 1);
  EXPECT_EQ(second.number(), 2);
  EXPECT_EQ(second.log_path(), folder + "/result_2.txt");
  EXPECT_TRUE(fs::exists(second.log_path()));
  EXPECT_EQ(second.config_path(), folder + "/result_2.config.json");
}

TEST_F(ResultFilesTest, GoesOnAboveAnyFileOfAnEarlierRun) {
  std::ofstream(folder_ / "result_7.telemetry.json") << "{}";
  std::ofstream(folder_ / "result_x.txt") << "not ours";
  std::ofstream(folder_ / "result_9") << "not ours";
  EXPECT_EQ(ResultFiles::claim(folder_).number(), 8);
}

TEST_F(ResultFilesTest, GivesEachOfTwoRacingProcessesItsOwn) {
  constexpr int kEach = 40;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  for (int i = 0; i < kEach; ++i) {
    const ResultFiles files = ResultFiles::claim(folder_);
    std::ofstream(files.config_path(), std::ios::app) << (child == 0 ? "c" : "p");
  }
  if (child == 0) _exit(0);
  int status = 1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  for (int n = 1; n <= 2 * kEach; ++n) {
    const auto path = folder_ / ("result_" + std::to_string(n) + ".config.json");
    ASSERT_EQ(fs::file_size(path), 1U) << path;
  }
}

TEST_F(ResultFilesTest, MovesAllFilesOfACutOffRunAndNeverReusesItsNumber) {
  ResultFiles::claim(folder_);
  const ResultFiles second = ResultFiles::claim(folder_);
  std::ofstream(second.telemetry_path()) << "{}";
  fs::create_directory(folder_ / "result_2.checkpoints");
  move_cut_off(folder_, 2);
  move_cut_off(folder_, 2);  // as another process may have done before
  EXPECT_FALSE(fs::exists(second.log_path()));
  EXPECT_TRUE(fs::exists(folder_ / "result_1.txt"));
  for (const char* name : {"result_2.txt", "result_2.telemetry.json", "result_2.checkpoints"}) {
    EXPECT_TRUE(fs::exists(folder_ / "cut_off" / name)) << name;
  }
  EXPECT_EQ(ResultFiles::claim(folder_).number(), 3);
}

TEST_F(ResultFilesTest, BeginsWithAnEmptyLog) {
  EXPECT_EQ(fs::file_size(ResultFiles::claim(folder_).log_path()), 0U);
}

TEST_F(ResultFilesTest, SaysWhyAFolderCannotBeMade) {
  std::ofstream(folder_ / "file") << "x";
  try {
    ResultFiles::claim(folder_ / "file" / "toy");
    FAIL();
  } catch (const base::SystemError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("file/toy"));
  }
}

}  // namespace
}  // namespace runner
