// Tests of which files of dead runs a new run removes, and which it leaves alone.
#include "runner/stale_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/base/process_state.h"
#include "runner/base/system_facts.h"
#include "runner/base/temporary_directory.h"
#include "runner/telemetry/live_status.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

/// Larger than any process number of the kernel.
constexpr std::int64_t kNoProcess = 4194999;

class StaleFiles : public testing::Test {
 protected:
  StaleFiles() { put("result_9.txt"); }

  fs::path put(const std::string& name, std::chrono::seconds age = std::chrono::seconds(0)) const {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    return path;
  }
  /// The live file of run `number`, as the program writes it.
  fs::path put_live(int number, const base::ProcessIdentity& process,
                    std::chrono::seconds age = std::chrono::seconds(0)) const {
    const fs::path path = folder_.path() / ("result_" + std::to_string(number) + ".live.json");
    const fs::path copy = folder_.path() / "copy";
    {
      const base::SystemClock clock;
      telemetry::LiveStatusFile file(path.string(), clock, 0.01);
      telemetry::LiveStatus status;
      status.host = base::host_name();
      status.process = process;
      file.publish(status);
      while (!fs::exists(path)) ::usleep(1000);
      fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
    }
    fs::rename(copy, path);
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    return path;
  }
  void clean() const { remove_stale_files((folder_.path() / "result_9.txt").string()); }

  const std::string kernel_ = base::this_process_identity().kernel;
  const base::ProcessIdentity dead_ = {kNoProcess, 0, kernel_};
  /// In another container, which may have the same host name.
  const base::ProcessIdentity elsewhere_ = {kNoProcess, 0, "elsewhere"};
  const base::TemporaryDirectory folder_;
};

TEST_F(StaleFiles, RemovesTheSignOfLifeOfARunThatDied) {
  const auto dead = put_live(1, dead_);
  const auto silent = put_live(2, elsewhere_, std::chrono::seconds(90));
  clean();
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_FALSE(fs::exists(silent));
}

TEST_F(StaleFiles, RemovesTheSignOfLifeOfARunOfThisHostBeforeItsReboot) {
  const auto silent = put_live(1, elsewhere_, std::chrono::seconds(15));
  const auto recent = put_live(2, elsewhere_, std::chrono::seconds(5));
  clean();
  EXPECT_FALSE(fs::exists(silent));
  EXPECT_TRUE(fs::exists(recent));
}

TEST_F(StaleFiles, RemovesTheSignOfLifeOfADeadRunWhoseNumberAnotherProcessGot) {
  const pid_t young = ::fork();
  if (young == 0) {
    for (;;) ::pause();
  }
  const std::uint64_t start = base::process_state(young)->start_ticks;
  const auto dead = put_live(1, {young, start - 1, kernel_});
  const auto alive = put_live(2, {young, start, kernel_});
  clean();
  ::kill(young, SIGKILL);
  ::waitpid(young, nullptr, 0);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive));
}

TEST_F(StaleFiles, LeavesRunsAloneThatLive) {
  const auto here = put_live(1, base::this_process_identity());
  const auto there = put_live(2, elsewhere_);
  const auto its_part = put("result_2.weights.h5.part", std::chrono::seconds(90));
  clean();
  EXPECT_TRUE(fs::exists(here));
  EXPECT_TRUE(fs::exists(there));
  EXPECT_TRUE(fs::exists(its_part));
}

TEST_F(StaleFiles, RemovesAtOnceWhatARunHadBegunWhoseProcessIsGone) {
  put_live(1, dead_);
  const auto checkpoint = put("result_1.checkpoints/checkpoint_0001_step_5.h5.part");
  const auto weights = put("result_1.weights.h5.part");
  clean();
  EXPECT_FALSE(fs::exists(checkpoint));
  EXPECT_FALSE(fs::exists(weights));
}

TEST_F(StaleFiles, RemovesWhatADeadRunHadBegun) {
  const std::chrono::seconds old(20);
  const auto weights = put("result_1.weights.h5.part", old);
  const auto telemetry = put("result_1.telemetry.json.partial.77", old);
  const auto checkpoint = put("result_1.checkpoints/checkpoint_0001_step_5.h5.part", old);
  const auto whole = put("result_1.checkpoints/checkpoint_0000_step_2.h5", old);
  const auto log = put("result_1.txt", old);
  const auto others = put("thesis.part", old);
  const auto new_one = put("result_3.weights.h5.part");
  clean();
  for (const auto& path : {weights, telemetry, checkpoint}) EXPECT_FALSE(fs::exists(path)) << path;
  for (const auto& path : {whole, log, others, new_one}) EXPECT_TRUE(fs::exists(path)) << path;
}

}  // namespace
}  // namespace runner
