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
    return shell(MPIEXEC " --version").out.find(") 4.") != std::string::npos;
  }
  /// The reason in the log's last record, which is checked to be its end.
  std::string reason_of_the_end() const {
    EXPECT_TRUE(all_end());
    const std::string text = log();
    const std::size_t last = text.rfind("{\"namespace\"");
    if (last == std::string::npos) return "no record: " + text;
    const json record = json::parse(text.substr(last), nullptr, false);
    if (record.is_discarded() || record["key"] != "run_stop") return text.substr(last);
    EXPECT_EQ(record["metadata"]["status"], "aborted");
    return record["metadata"]["reason"];
  }
  bool is_saved() const {
    const fs::path folder = results("result_1.checkpoints");
    return fs::exists(folder) && !fs::is_empty(folder);
  }
};

TEST_F(LostLauncherTest, EndsARunThatSavesAndClosesItsLog) {
  const Started job = training();
  ASSERT_EQ(::kill(job.process, SIGKILL), 0);
  outside::wait(job);
  const std::string reason = reason_of_the_end();
  if (can_save()) {
    EXPECT_THAT(reason, ContainsRegex("^stopped by the loss of its launcher after step [0-9]+$"));
    EXPECT_TRUE(is_saved());
  } else {
    EXPECT_THAT(reason, ContainsRegex("^told to end by the loss of its launcher during "));
  }
}

TEST_F(LostLauncherTest, EndsARunLikewiseAfterTwoSignalsAtOnce) {
  const Started job = training();
  ASSERT_EQ(::kill(job.process, SIGTERM), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  ::kill(job.process, SIGTERM);
  outside::wait(job);
  // Whether the launcher still passes one on, and then kills, depends on its speed.
  const std::string reason = reason_of_the_end();
  EXPECT_THAT(reason,
              ContainsRegex("^(stopped|told to end) by (SIGTERM|the loss of its launcher) "));
  if (can_save() && reason.find("launcher") != std::string::npos) {
    EXPECT_TRUE(is_saved());
  }
}

}  // namespace
}  // namespace runner
