// The command `status`: runs that are in progress, silent, gone and ended.
#include "analysis/command/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/live_run.h"
#include "analysis/own_log.h"
#include "runner/base/content.h"
#include "runner/base/process_state.h"
#include "runner/base/system_facts.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

namespace fs = std::filesystem;
using analysis::command::status;
using analysis::command::StatusOptions;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SetClock final : public base::Clock {
 public:
  std::int64_t steady_ns() const override { return now_ms * 1000000; }
  std::int64_t unix_ms() const override { return now_ms; }
  std::int64_t now_ms = 0;
};

class Status : public testing::Test {
 protected:
  /// A log with two of three epochs, each evaluated. By clock_, its run began 24 s ago.
  static own_log::Log unfinished() {
    own_log::Log log = own_log::clean();
    log.erase("run_stop");
    log.records.erase(log.find("epoch_start", 2), log.records.end());
    return log;
  }
  void SetUp() override {
    // The logs of these tests are of 2023; write() moves the times of the files to that date.
    clock_.now_ms = static_cast<std::int64_t>(own_log::kStartMs) + 25000;
  }
  void write(const std::string& name, const own_log::Log& log) {
    const std::string path = folder_.write("results/box/cosmoflow/" + name, log.text());
    fs::last_write_time(path, fs::file_time_type::clock::now() -
                                  std::chrono::milliseconds(own_ms() - clock_.now_ms));
  }
  static std::int64_t own_ms() { return base::SystemClock().unix_ms(); }
  json live(int process) const {
    json subsystems;
    for (const char* const name : {"staging", "input", "forward", "backward", "exchange",
                                   "optimizer", "evaluation", "checkpoint", "other"}) {
      subsystems[name] = 2.5;
    }
    return {{"schema", 2},
            {"workload", "cosmoflow"},
            {"host", base::host_name()},
            {"process", process},
            {"process_start", 0},
            {"kernel", base::this_process_identity().kernel},
            {"ranks", 4},
            {"phase", "training"},
            {"phase_since_ms", clock_.now_ms - 5000},
            {"updated_ms", clock_.now_ms - 1000},
            {"alive_ms", clock_.now_ms - 1000},
            {"epoch_num", 3},
            {"epochs", 10},
            {"steps_done", 250},
            {"steps_total", 1000},
            {"steps_before", 0},
            {"samples_per_s", 1234.0},
            {"mean_loss", 0.25},
            {"wall_s", 24.0},
            {"subsystems_s", subsystems}};
  }
  void write_live(const json& told) {
    folder_.write("results/box/cosmoflow/result_1.live.json", told.dump());
  }
  std::string run() {
    std::ostringstream out;
    options_.paths = {folder_.path().string()};
    EXPECT_EQ(status(options_, {clock_, [this](double) { slept(); }, false}, out, people_, 100),
              base::ExitCode::kSuccess);
    return out.str();
  }
  json run_json() {
    options_.json = "-";
    return json::parse(run())["runs"].at(0);
  }
  void slept() {
    ++sleeps_;
    on_sleep_();
  }
  base::TemporaryDirectory folder_;
  SetClock clock_;
  StatusOptions options_;
  std::ostringstream people_;
  int sleeps_ = 0;
  std::function<void()> on_sleep_ = [] {};
};

TEST_F(Status, TellsOfALogWithoutAnyOtherFile) {
  write("result_1.txt", unfinished());
  EXPECT_THAT(run(), AllOf(HasSubstr("result_1.txt"), HasSubstr("running"),
                           HasSubstr("0.2000 (target 0.124; best 0.2000)"),
                           HasSubstr("elapsed             24 s"), HasSubstr("staging 13.0 %")));
  const json told = run_json();
  EXPECT_EQ(told["state"], "running");
  EXPECT_EQ(told["elapsed_s"], 24.0);
  EXPECT_EQ(told["epochs_done"], 2.0);
  EXPECT_TRUE(told["outlook"].is_null());
  EXPECT_EQ(told["parts"]["staging"], 3.0);
}

TEST_F(Status, TellsWhatTheRunTellsOfItself) {
  write("result_1.txt", unfinished());
  write_live(live(getpid()));
  EXPECT_THAT(run(), AllOf(HasSubstr("running: training for 5 s (4 ranks, process "),
                           HasSubstr("2.50 of at most 10 (step 250 of 1000)"), HasSubstr("1234"),
                           HasSubstr("input 11.1 %")));
  const json told = run_json();
  EXPECT_EQ(told["epochs_done"], 2.5);
  // 2.5 epochs took 21 s without staging: ten end 3 + 84 s after run_start.
  EXPECT_NEAR(told["limit_s"].get<double>(), 87.0, 1e-9);
  EXPECT_EQ(told["ranks"], 4);
  EXPECT_EQ(told["mean_loss"], 0.25);
}

TEST_F(Status, ForeseesTheEndByEarlierRuns) {
  for (const char* const name : {"result_2.txt", "result_3.txt"}) write(name, own_log::clean());
  own_log::Log other = own_log::clean();  // another batch size: not comparable
  other["global_batch_size"]["value"] = 128;
  write("result_4.txt", other);
  write("result_1.txt", unfinished());
  const json outlook = run_json()["outlook"];
  EXPECT_EQ(outlook["basis"], "2 earlier runs of this folder");
  EXPECT_NEAR(outlook["end_s"].get<double>(), 3.0 + 3.0 * 21.0 / 2.0, 1e-9);
}

TEST_F(Status, TellsThatTheEndHasNoUpperBound) {
  own_log::Log log = unfinished();
  double ms = 23000;
  for (const double quality : {0.28, 0.13, 0.29}) {
    log.records.push_back(own_log::record(ms += 500, "eval_error", quality, {{"epoch_num", 2}}));
  }
  write("result_1.txt", log);
  EXPECT_TRUE(run_json()["outlook"]["high_s"].is_null());
  options_.json.clear();
  EXPECT_THAT(run(), HasSubstr(" (95 %: at least "));
}

TEST_F(Status, KeepsThePaceOfAResumedRunsOwnPart) {
  own_log::Log log = unfinished();
  log.insert_after("run_start", own_log::record(1001, "resumed", true));
  write("result_1.txt", log);
  json told = live(getpid());
  told["steps_before"] = 200;  // 0.5 epochs in 21 s without staging, 7.5 to go
  write_live(told);
  EXPECT_NEAR(run_json()["limit_s"].get<double>(), 24.0 + 7.5 * 42.0, 1e-9);
  fs::remove(folder_.path() / "results/box/cosmoflow/result_1.live.json");
  EXPECT_TRUE(run_json()["limit_s"].is_null());
}

TEST_F(Status, KnowsARunThatIsSilentOrGone) {
  write("result_1.txt", unfinished());
  json told = live(getpid());
  clock_.now_ms += 90000;
  write_live(told);
  EXPECT_THAT(run(), HasSubstr("silent: no sign of life for 1 min 31 s, last seen in training"));
  told["process"] = 1 << 22;  // above the kernel's largest process number
  write_live(told);
  EXPECT_THAT(run(), HasSubstr("gone: its process ended without a word"));
  told["kernel"] = "elsewhere";  // whose processes cannot be examined
  write_live(told);
  EXPECT_EQ(run_json()["state"], "silent");
}

TEST_F(Status, TakesARunForGoneWhoseProcessNobodyReapsOrAnotherGot) {
  write("result_1.txt", unfinished());
  const pid_t zombie = ::fork();
  if (zombie == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT), 0);
  write_live(live(zombie));
  EXPECT_EQ(run_json()["state"], "gone");
  ::waitpid(zombie, nullptr, 0);
  json told = live(getpid());
  told["process_start"] = 1;
  write_live(told);
  EXPECT_EQ(run_json()["state"], "gone");
}

/// Containers may have their host's name, and processes of their own.
TEST_F(Status, TakesTheSignOfLifeOfARunInAnotherContainer) {
  write("result_1.txt", unfinished());
  json told = live(1 << 22);
  told["kernel"] = told["kernel"].get<std::string>() + "0";
  write_live(told);
  EXPECT_EQ(run_json()["state"], "running");
}

TEST_F(Status, TellsTheAgeOfALateSignOfLife) {
  write("result_1.txt", unfinished());
  write_live(live(getpid()));
  EXPECT_THAT(run(), Not(HasSubstr("last sign of life")));
  clock_.now_ms += 8000;
  EXPECT_THAT(run(), HasSubstr("training for 13 s, last sign of life 9 s ago"));
}

TEST_F(Status, NoticesSilenceWithinAFewWritings) {
  write("result_1.txt", unfinished());
  json told = live(getpid());
  told["kernel"] = "elsewhere";
  write_live(told);
  const std::int64_t alive_ms = told["alive_ms"];
  clock_.now_ms = alive_ms + 14000;
  EXPECT_EQ(run_json()["state"], "running");
  clock_.now_ms = alive_ms + 16000;
  EXPECT_EQ(run_json()["state"], "silent");
}

TEST_F(Status, ShowsTheLastRunWhereNoneGoesOn) {
  write("result_1.txt", own_log::clean());
  EXPECT_THAT(run(),
              AllOf(HasSubstr("ended: success"), Not(HasSubstr("end  ")), Not(HasSubstr(" ago"))));
}

TEST_F(Status, ForgetsRunsThatDiedLongAgo) {
  write("result_1.txt", unfinished());
  clock_.now_ms += 5 * 86400 * std::int64_t{1000};
  write("result_2.txt", unfinished());
  const std::string text = run();
  EXPECT_THAT(text, AllOf(HasSubstr("result_2.txt"), Not(HasSubstr("result_1.txt"))));
}

TEST_F(Status, FollowsUntilTheRunEnds) {
  write("result_1.txt", unfinished());
  options_.follow = true;
  on_sleep_ = [this] {
    if (sleeps_ == 3) write("result_1.txt", own_log::clean());
  };
  const std::string text = run();
  EXPECT_EQ(sleeps_, 3);
  EXPECT_THAT(text, HasSubstr("ended: success"));
}

TEST_F(Status, ForeseesNothingOfARunThatIsThereOrSilent) {
  own_log::Log log = own_log::clean();
  log.erase("run_stop");
  write("result_1.txt", log);
  clock_.now_ms += 10000;
  EXPECT_THAT(run(), HasSubstr("the target is reached"));
  clock_.now_ms += 3600 * std::int64_t{1000};  // the file itself may be a newer copy
  const json told = run_json();
  EXPECT_EQ(told["state"], "silent");
  EXPECT_EQ(told["elapsed_s"], 33.0);
  EXPECT_TRUE(told["outlook"].is_null());
}

TEST_F(Status, WritesMetrics) {
  write("result_1.txt", unfinished());
  json running = live(getpid());
  running["workload"] = "cosmo\"flow\\";
  write_live(running);
  const base::TemporaryDirectory metrics;
  options_.openmetrics = (metrics.path() / "trainmark.prom").string();
  run();
  const std::string text = base::content(options_.openmetrics);
  const std::string labels = "{log=\"" +
                             (folder_.path() / "results/box/cosmoflow/result_1.txt").string() +
                             "\",workload=\"cosmo\\\"flow\\\\\",host=\"" + base::host_name() + "\"";
  for (const std::string& line : {"trainmark_run_state" + labels + ",state=\"running\"} 1",
                                  "trainmark_run_state" + labels + ",state=\"gone\"} 0",
                                  "trainmark_run_elapsed_seconds" + labels + "} 24",
                                  "trainmark_run_epochs" + labels + "} 2.5",
                                  "trainmark_run_samples_per_second" + labels + "} 1234",
                                  "trainmark_run_quality_target" + labels + "} 0.124",
                                  "trainmark_run_part_seconds" + labels + ",part=\"input\"} 2.5"}) {
    EXPECT_THAT(text, HasSubstr(line + "\n"));
  }
  EXPECT_THAT(text,
              AllOf(HasSubstr("# TYPE trainmark_run_epochs gauge\n"), testing::EndsWith("# EOF\n"),
                    Not(HasSubstr("trainmark_run_time_to_train_seconds"))));
  EXPECT_THAT(people_.str(), HasSubstr("wrote " + options_.openmetrics));
}

TEST_F(Status, WritesTheTimeToTrainOfARunThatReachedItsTarget) {
  own_log::Log log = own_log::clean();
  write("result_1.txt", log);
  const base::TemporaryDirectory metrics;
  options_.openmetrics = (metrics.path() / "trainmark.prom").string();
  run();
  EXPECT_THAT(base::content(options_.openmetrics),
              AllOf(HasSubstr("trainmark_run_time_to_train_seconds{"),
                    HasSubstr(",state=\"ended\"} 1\n"), Not(HasSubstr("expected_end"))));
}

TEST_F(Status, WritesMetricsThatPrometheusReads) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is not installed";
  }
  write("result_1.txt", unfinished());
  write_live(live(getpid()));
  const base::TemporaryDirectory metrics;
  options_.openmetrics = (metrics.path() / "trainmark.prom").string();
  run();
  EXPECT_EQ(std::system(("promtool check metrics <" + options_.openmetrics + " 1>&2").c_str()), 0);
}

TEST_F(Status, RefusesAFileThatIsNoLog) {
  folder_.write("results/box/cosmoflow/result_1.txt", "no log\n");
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { run(); }),
              HasSubstr("result_1.txt: expected lines with ':::MLLOG ', found none"));
}

TEST_F(Status, WritesNoFileOverOneThatBelongsToALog) {
  write("result_1.txt", unfinished());
  const std::string log = (folder_.path() / "results/box/cosmoflow/result_1.txt").string();
  for (const char* const ending : {".live.json", ".weights.h5", ".checkpoints/owner.lock"}) {
    const std::string path =
        folder_.write(std::string("results/box/cosmoflow/result_1") + ending, "{}");
    options_.paths = {log};
    options_.openmetrics = path;
    std::ostringstream out;
    EXPECT_THROW(status(options_, {clock_, {}, false}, out, people_, 100), base::ConfigError)
        << ending;
    EXPECT_EQ(base::content(path), "{}") << ending;
  }
}

TEST_F(Status, SaysWhatItCouldNotRead) {
  write("result_1.txt", unfinished());
  json told = live(getpid());
  told["ranks"] = "four";
  write_live(told);
  EXPECT_THAT(run(), AllOf(HasSubstr("running"), HasSubstr("result_1.live.json: /ranks: must")));
}

TEST_F(Status, RefusesWhatCannotBe) {
  options_.follow = true;
  options_.json = "-";
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }), HasSubstr("no --follow"));
  options_ = {};
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { run(); }), HasSubstr("found none"));
}

TEST_F(Status, TellsTheSummaryOfARunSet) {
  write("result_1.txt", own_log::clean());
  folder_.write("results/box/cosmoflow/set_summary.json",
                R"({"kind": "set", "runs": 5, "text": ["Set of 5 runs", "  score  30 s"]})");
  EXPECT_THAT(run(), HasSubstr("\nSet of 5 runs\n  score  30 s\n"));
  options_.json = "-";
  EXPECT_EQ(json::parse(run())["sets"][0]["runs"], 5);
}

TEST_F(Status, NamesASummaryThatIsDamaged) {
  write("result_1.txt", own_log::clean());
  folder_.write("results/box/cosmoflow/set_summary.json", R"({"text": [1]})");
  std::ostringstream out;
  options_.paths = {folder_.path().string()};
  EXPECT_EQ(status(options_, {clock_, [](double) {}, false}, out, people_, 100),
            base::ExitCode::kIncomplete);
  EXPECT_THAT(people_.str(), HasSubstr("set_summary.json: /text: expected a list of lines"));
}

TEST_F(Status, LeavesOutRunsThatASetHasBegunAnew) {
  write("result_2.txt", unfinished());
  write("cut_off/result_1.txt", unfinished());
  EXPECT_THAT(run(), Not(HasSubstr("cut_off")));
}

}  // namespace
