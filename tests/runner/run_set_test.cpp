// Run sets from outside: continued, shared, interrupted, failing; and results as JSON.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <set>

#include "runner/toy_run.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::mpirun;
using outside::Started;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RunSetTest : public outside::ToyRun {
 protected:
  json summary() const { return json::parse(content(results("set_summary.json"))); }
  std::vector<std::string> states(const char* key = "status") const {
    std::vector<std::string> all;
    const json told = summary();
    for (const json& member : told["members"]) {
      all.push_back(member[key].is_null() ? "null" : member[key].get<std::string>());
    }
    return all;
  }
  std::set<std::uint64_t> seeds() const {
    std::set<std::uint64_t> all;
    for (const auto& entry : fs::directory_iterator(results())) {
      if (!entry.path().string().ends_with(".config.json")) continue;
      all.insert(json::parse(content(entry.path()))["seed"].get<std::uint64_t>());
    }
    return all;
  }
  /// Starts it with output files of its own, so that several can run at once.
  Started start_toy(const std::string& name, const std::string& arguments) const {
    fs::create_directories(folder_ / name);
    return outside::start(TOY_PROGRAM " " + arguments, folder_ / name);
  }
};

TEST_F(RunSetTest, RunsEachMemberOnceAndThenOnlyTellsTheSummary) {
  const Ended first = toy("run --runs 3 " + config());
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("Set of 3 runs"));
  EXPECT_EQ(seeds().size(), 3U);
  EXPECT_THAT(states(), ElementsAre("success", "success", "success"));
  const Ended second = toy("run --runs 3 " + config());
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(second.out, HasSubstr("Set of 3 runs"));
  EXPECT_THAT(second.out, Not(HasSubstr("RESULT")));
  EXPECT_FALSE(fs::exists(results("result_4.txt")));
}

TEST_F(RunSetTest, TellsTheCommandThatContinuesItWithoutTheScratchOfAJob) {
  const std::string arguments = "run --runs 3 --only 2 --round training-4.0 " + config() +
                                " --set staging.directory=" + (folder_ / "scratch").string();
  ASSERT_EQ(toy(arguments).status, 0);
  const std::string told = summary()["command"];
  EXPECT_THAT(told, HasSubstr("staging.directory="));
  EXPECT_THAT(told, testing::EndsWith("--runs 3 --round training-4.0"));
  EXPECT_EQ(summary()["round"], "training-4.0");
  ASSERT_EQ(shell("SLURM_JOB_ID=17 " TOY_PROGRAM " " + arguments).status, 0);
  EXPECT_THAT(summary()["command"].get<std::string>(), Not(HasSubstr("scratch")));
}

TEST_F(RunSetTest, WritesNothingOfASetForOneRun) {
  ASSERT_EQ(toy("run --runs 1 " + config()).status, 0);
  EXPECT_FALSE(fs::exists(results("set.json")));
  EXPECT_FALSE(fs::exists(results("set")));
  EXPECT_FALSE(fs::exists(results("set_summary.json")));
}

TEST_F(RunSetTest, RunsOnlyTheMemberOfAnArraysTask) {
  const Ended second = toy("run --runs 3 --only 2 " + config());
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(states("state"), ElementsAre("waiting", "finished", "waiting"));
  EXPECT_THAT(second.out, HasSubstr("--runs 3"));
  const json config_of_second = json::parse(content(results("result_1.config.json")));
  EXPECT_EQ(config_of_second["seed"], summary()["members"][1]["seed"]);
  ASSERT_EQ(toy("run --runs 3 --only 2 " + config()).status, 0) << "it is finished";
  EXPECT_FALSE(fs::exists(results("result_2.txt")));
  ASSERT_EQ(toy("run --runs 3 " + config()).status, 0);
  EXPECT_EQ(seeds().size(), 3U);
  EXPECT_EQ(toy("run --runs 3 --only 4 " + config()).status, 2);
  EXPECT_EQ(toy("run --only 1 " + config()).status, 2);
}

TEST_F(RunSetTest, RefusesAnotherSetInItsFolder) {
  ASSERT_EQ(toy("run --runs 2 " + config()).status, 0);
  const Ended more = toy("run --runs 3 " + config());
  EXPECT_EQ(more.status, 2);
  EXPECT_THAT(more.err, HasSubstr("--runs: expected 2"));
  const Ended other = toy_on(2, "run --runs 2 --set epochs=9 " + config());
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("set.json"));
  EXPECT_EQ(toy("run --runs 2 --resume " + config()).status, 2);
}

TEST_F(RunSetTest, BeginsAMemberAnewThatWasKilledAndKeepsTheFinishedOnes) {
  // Steps take long enough to be killed in the middle of the second member.
  const std::string slow = "run --runs 3 " + config({{"model", {{"step_ms", 20}}}});
  const Started set = start(TOY_PROGRAM " " + slow);
  ASSERT_TRUE(comes(
      [&] { return content(results("result_2.txt")).find("run_start") != std::string::npos; }));
  for (const pid_t process : processes()) kill(process, SIGKILL);
  outside::wait(set);
  const std::string first_log = content(results("result_1.txt"));
  const json cut_off = json::parse(content(results("result_2.config.json")));
  const Ended again = toy(slow);
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(content(results("result_1.txt")), first_log);
  EXPECT_TRUE(fs::exists(results("cut_off/result_2.txt")));
  EXPECT_FALSE(fs::exists(results("result_2.txt")));
  EXPECT_EQ(summary()["members"][1]["seed"], cut_off["seed"]);
  EXPECT_EQ(summary()["members"][1]["attempts"], 2);
  EXPECT_EQ(seeds().size(), 3U);
  EXPECT_THAT(states(), ElementsAre("success", "success", "success"));
}

TEST_F(RunSetTest, IsSharedByLaunchersThatRunAtTheSameTime) {
  const std::string run = "run --runs 6 " + config({{"model", {{"step_ms", 5}}}});
  const Started one = start_toy("one", run), other = start_toy("other", run);
  const Ended first = outside::wait(one), second = outside::wait(other);
  // The process that ends first may leave a member that the other one still runs.
  EXPECT_THAT(first.status, testing::AnyOf(0, 8)) << first.err;
  EXPECT_THAT(second.status, testing::AnyOf(0, 8)) << second.err;
  EXPECT_EQ(std::min(first.status, second.status), 0);
  EXPECT_EQ(seeds().size(), 6U);
  EXPECT_FALSE(fs::exists(results("result_7.txt")));
  EXPECT_EQ(states(), std::vector<std::string>(6, "success"));
  for (const Ended& ended : {first, second}) EXPECT_THAT(ended.out, HasSubstr("RESULT"));
}

TEST_F(RunSetTest, KeepsAFailureAndGoesOnWithTheOthers) {
  const std::string failing = config({{"model", {{"throw_at_step", 7}}}});
  const Ended run = toy("run --runs 3 " + failing);
  EXPECT_EQ(run.status, 3) << run.err;
  EXPECT_THAT(states(), ElementsAre("failed", "failed", "failed"));
  EXPECT_THAT(run.out, HasSubstr("toy.tar: sample 5 is damaged"));
  EXPECT_EQ(toy("run --runs 3 " + failing).status, 3) << "failures are results";
  EXPECT_FALSE(fs::exists(results("result_4.txt")));
}

TEST_F(RunSetTest, RunsMembersAgainWhoseDataCouldNotBeStaged) {
  const std::string failing = config({{"strike", {{"kind", "no_data"}, {"during", "stage"}}}});
  const Ended run = toy("run --runs 2 " + failing);
  EXPECT_EQ(run.status, 8) << run.err;
  EXPECT_THAT(states(), ElementsAre("not_started", "not_started"));
  EXPECT_THAT(run.out, HasSubstr("toy.tar: cannot be opened"));
  const Ended only = toy("run --runs 2 --only 1 " + failing);
  EXPECT_EQ(only.status, 3);
  EXPECT_THAT(only.err, HasSubstr("run 1 ended before its first epoch: toy.tar: cannot be opened"));
  EXPECT_TRUE(fs::exists(results("cut_off/result_1.txt")));
  EXPECT_EQ(summary()["members"][0]["attempts"], 2);
}

TEST_F(RunSetTest, GoesOnWhenAllRanksAgreeOnTheFailure) {
  const Ended run = toy_on(2, "run --runs 2 " + config({{"model", {{"drifting_rank", 1}}}}));
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_THAT(states(), ElementsAre("failed", "failed"));
  EXPECT_THAT(summary()["members"][1]["reason"].get<std::string>(), HasSubstr("differ from"));
}

TEST_F(RunSetTest, TriesTheOthersFirstAfterAMemberThatEndedTheJob) {
  const std::string failing =
      "run --runs 2 " + config({{"model", {{"throw_at_step", 7}, {"throwing_rank", 1}}}});
  EXPECT_EQ(toy_on(2, failing).status, 3);
  EXPECT_EQ(toy_on(2, failing).status, 3);
  EXPECT_FALSE(fs::exists(results("cut_off"))) << "the second member came first";
  EXPECT_EQ(toy_on(2, failing).status, 3);
  EXPECT_TRUE(fs::exists(results("cut_off/result_1.txt")));
}

TEST_F(RunSetTest, EndsOnASignalAndRunsThatMemberAgain) {
  const std::string stops = config({{"model", {{"signal_at_step", 15}}}});
  const Ended run = toy("run --runs 2 --json - " + stops);
  EXPECT_EQ(run.status, 7) << run.err;
  EXPECT_THAT(states("state"), ElementsAre("cut_off", "waiting"));
  const json told = json::parse(run.out);
  EXPECT_EQ(told["exit_code"], 7);
  EXPECT_EQ(told["missing"], json::array({1, 2}));
}

TEST_F(RunSetTest, CountsMissedTargetsAndDivergedRunsAsFailures) {
  const Ended missed = toy("run --runs 2 " + config({{"epochs", 2}}));
  EXPECT_EQ(missed.status, 6);
  EXPECT_THAT(states(), ElementsAre("target_missed", "target_missed"));
  EXPECT_EQ(summary()["failures"].size(), 2U);
  fs::remove_all(results());
  EXPECT_EQ(toy("run --runs 2 " + config({{"model", {{"not_finite_at_step", 3}}}})).status, 6);
  EXPECT_THAT(states(), ElementsAre("diverged", "diverged"));
}

TEST_F(RunSetTest, GivesTheResultOfARunAsOneDocumentHoweverItEnds) {
  const auto document = [&](const std::string& options, const json& overrides) {
    const Ended run = toy("run --json - " + options + " " + config(overrides));
    const json told = json::parse(run.out);  // and nothing else
    EXPECT_EQ(told["exit_code"], run.status) << run.out;
    return told;
  };
  const json success = document("", json::object());
  EXPECT_EQ(success["status"], "success");
  EXPECT_EQ(success["seed"], 5);
  EXPECT_EQ(success["quality"], 0.5);
  EXPECT_EQ(success["epochs"], 5.0);
  EXPECT_GT(success["time_to_train_s"], 0.0);
  for (const auto& [name, path] : success["files"].items()) {
    EXPECT_TRUE(fs::exists(path.get<std::string>())) << name;
  }
  const json missed = document("", {{"epochs", 2}});
  EXPECT_EQ(missed["status"], "target_missed");
  EXPECT_TRUE(missed["time_to_train_s"].is_null());
  const json diverged = document("", {{"model", {{"not_finite_at_step", 3}}}});
  EXPECT_EQ(diverged["status"], "diverged");
  EXPECT_TRUE(diverged["files"]["weights"].is_null());
  EXPECT_EQ(document("", {{"model", {{"signal_at_step", 15}}}})["status"], "stopped");
  const json failed = document("", {{"model", {{"throw_at_step", 7}}}});
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_THAT(failed["reason"].get<std::string>(), HasSubstr("sample 5 is damaged"));
  const json member = document("--runs 2 --only 2", {{"epochs", 6}});
  EXPECT_EQ(member["kind"], "member");
  EXPECT_EQ(member["member"], 2);
  const json set = document("--runs 2", {{"epochs", 6}});
  EXPECT_EQ(set["kind"], "set");
  EXPECT_EQ(set["members"].size(), 2U);
}

TEST_F(RunSetTest, WritesTheResultToAFileAlsoWhenAnotherRankFails) {
  const std::string file = (folder_ / "result.json").string();
  const Ended run =
      toy_on(2, "run --json " + file + " " +
                    config({{"model", {{"throw_at_step", 7}, {"throwing_rank", 1}}}}));
  EXPECT_EQ(run.status, 3);
  const json told = json::parse(content(file));
  EXPECT_EQ(told["status"], "failed");
  EXPECT_THAT(told["reason"].get<std::string>(), HasSubstr("rank 1: toy.tar"));
  const Ended well = toy("run --json " + file + " " + config());
  EXPECT_THAT(well.out, HasSubstr("RESULT"));
  EXPECT_EQ(json::parse(content(file))["status"], "success");
}

/// The first run_start and the last run_stop of all logs, in calendar milliseconds.
std::pair<std::int64_t, std::int64_t> span_of_runs(const fs::path& folder, std::int64_t runs,
                                                   std::int64_t& start_spread_ms) {
  const auto time_of = [&](std::int64_t run, const std::string& key) {
    const std::string log = content(folder / fmt::format("result_{}.txt", run));
    const std::size_t line = log.rfind("\n", log.find("\"key\": \"" + key + "\"")) + 1;
    const std::string rest = log.substr(log.find('{', line));
    return json::parse(rest.substr(0, rest.find('\n')))["time_ms"].get<std::int64_t>();
  };
  std::vector<std::int64_t> starts, stops;
  for (std::int64_t run = 1; run <= runs; ++run) {
    starts.push_back(time_of(run, "run_start"));
    stops.push_back(time_of(run, "run_stop"));
  }
  start_spread_ms = *std::ranges::max_element(starts) - *std::ranges::min_element(starts);
  return {*std::ranges::min_element(starts), *std::ranges::max_element(stops)};
}

TEST_F(RunSetTest, StartsInstancesOfSeveralRanksTogetherAndRatesThem) {
  const std::string file = config({{"model", {{"step_ms", 5}}}});
  std::vector<Started> instances;
  for (int i = 1; i <= 3; ++i) {
    const std::string name = std::to_string(i);
    fs::create_directories(folder_ / name);
    instances.push_back(outside::start(
        mpirun(2) + TOY_PROGRAM " run --runs 3 --together --only " + name + " " + file,
        folder_ / name));
  }
  for (const Started& instance : instances) {
    const Ended ended = outside::wait(instance);
    ASSERT_EQ(ended.status, 0) << ended.err;
  }
  std::int64_t start_spread_ms = 0;
  const auto [first, last] = span_of_runs(results(), 3, start_spread_ms);
  EXPECT_LT(start_spread_ms, 2000);
  const json told = summary();
  EXPECT_EQ(told["mode"], "together");
  const json throughput = told["throughput"];
  EXPECT_DOUBLE_EQ(throughput["start_spread_s"].get<double>(),
                   static_cast<double>(start_spread_ms) / 1e3);
  EXPECT_EQ(throughput["number_of_models"], 3);
  EXPECT_DOUBLE_EQ(throughput["time_to_train_all_s"].get<double>(),
                   static_cast<double>(last - first) / 1e3);
  EXPECT_EQ(told["pruned"], json::array());
  EXPECT_THAT(throughput["reason"].get<std::string>(), HasSubstr("at least 5 models, 3 of 3"));
}

TEST_F(RunSetTest, NamesTheInstanceThatIsMissingAtTheCommonStart) {
  const std::string together = "run --runs 2 --together --together-timeout 0.5 --only 1 --json - ";
  const Ended alone = toy(together + config());
  EXPECT_EQ(alone.status, 8) << alone.err;
  const json told = json::parse(alone.out);
  EXPECT_EQ(told["status"], "failed");
  EXPECT_THAT(told["reason"].get<std::string>(), HasSubstr("members 2 of 2 are not ready"));
  EXPECT_THAT(states("state"), ElementsAre("cut_off", "waiting"));
  EXPECT_THAT(content(results("result_1.txt")), Not(HasSubstr("\"run_start\"")));
  EXPECT_EQ(toy("run --runs 2 --together " + config()).status, 2) << "--only is missing";
  EXPECT_EQ(toy("run --runs 2 " + config()).status, 2) << "it is a set that starts together";
}

TEST_F(RunSetTest, RepeatsNoInstanceAloneAfterTheCommonStart) {
  const std::string run = "run --runs 2 --together --only ";
  const std::string file = config({{"model", {{"signal_at_step", 15}}}});
  const Started one = start_toy("one", run + "1 " + file),
                two = start_toy("two", run + "2 " + file);
  EXPECT_EQ(outside::wait(one).status, 7);
  EXPECT_EQ(outside::wait(two).status, 7);
  const Ended again = toy(run + "1 " + file);
  EXPECT_EQ(again.status, 8) << again.err;
  EXPECT_THAT(again.err, HasSubstr("after the common start"));
  EXPECT_EQ(summary()["pruned"], json::array({1, 2}));
  EXPECT_EQ(summary()["throughput"]["number_of_models"], 0);
}

}  // namespace
}  // namespace runner
