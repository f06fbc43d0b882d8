// Tests of jobs whose launcher is gone: their ranks save if they can, close the log and end.
#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/toy_run.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::mpirun;
using outside::Started;
using testing::ContainsRegex;
using testing::HasSubstr;

class LostLauncherTest : public outside::ToyRun {
 protected:
  void SetUp() override {
    if (outside::kIsHydra) GTEST_SKIP() << "MPICH's launcher ends its ranks by SIGKILL";
  }
  /// A job of two ranks that trains for long, and saves only when it ends.
  Started training() const {
    const Started job = start("exec " + mpirun(2) + TOY_PROGRAM " run " +
                              config({{"epochs", 100},
                                      {"model", {{"step_ms", 100}}},
                                      {"checkpoint", {{"every_steps", 100000}}}}));
    EXPECT_TRUE(comes([this] { return log().find("epoch_stop") != std::string::npos; }));
    return job;
  }
  std::string log() const { return content(results("result_1.txt")); }
  /// Open MPI 5 ends a rank on the thread that would save.
  bool can_save() const {
    return shell(MPIEXEC " --version").out.find("(Open MPI) 4.") != std::string::npos;
  }
  void expect_closed(const std::string& reason) const {
    EXPECT_TRUE(all_end());
    const std::string text = log();
    const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
    const json record = json::parse(last.substr(last.find('{')));
    EXPECT_EQ(record["key"], "run_stop");
    EXPECT_EQ(record["metadata"]["status"], "aborted");
    EXPECT_THAT(record["metadata"]["reason"].get<std::string>(), ContainsRegex(reason));
    if (can_save()) {
      EXPECT_FALSE(fs::is_empty(results("result_1.checkpoints")));
    }
  }
};

TEST_F(LostLauncherTest, EndsARunThatSavesAndClosesItsLog) {
  const Started job = training();
  ASSERT_EQ(::kill(job.process, SIGKILL), 0);
  outside::wait(job);
  expect_closed("^(stopped|told to end) by the loss of its launcher ");
}

TEST_F(LostLauncherTest, EndsARunLikewiseAfterTwoSignalsAtOnce) {
  const Started job = training();
  ASSERT_EQ(::kill(job.process, SIGTERM), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  ::kill(job.process, SIGTERM);
  outside::wait(job);
  // Whether the launcher still passes the first one on depends on its speed.
  expect_closed("^(stopped|told to end) by (SIGTERM|the loss of its launcher) ");
}

}  // namespace
}  // namespace runner
