// The command `package`: makes run sets into a tree that passes the check of a submission.
#include "analysis/command/package.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/command/checked_submission.h"
#include "analysis/submission/power_logs.h"
#include "runner/base/content.h"

namespace {

namespace fs = std::filesystem;
using analysis::command::PackageCommandOptions;
using base::content;
using base::ExitCode;
using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Package : public testing::Test {
 protected:
  Package() {
    write_runs("runs", 5);
    write_description("\"us\"");
  }

  void write_description(const std::string& submitter) {
    folder_.write("demo.json", golden::description("submitter", submitter));
  }
  static std::string log(double epoch, const std::string& seed, const std::string& org = "us") {
    std::istringstream lines(checking::log_of(epoch, seed));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      const auto is = [&](const char* key) { return line.find(key) != std::string::npos; };
      if (is("\"submission_org\"")) {
        text += golden::record("submission_org", '"' + org + '"');
      } else if (is("\"submission_platform\"")) {
        text += golden::record("submission_platform", "\"some\"");
      } else {
        text += line + "\n";
      }
    }
    return text;
  }
  void write_run(const std::string& runs, int number, const std::string& text) {
    folder_.write(fmt::format("{}/result_{}.txt", runs, number), text);
    folder_.write(fmt::format("{}/result_{}.config.json", runs, number),
                  fmt::format(R"({{"workload": "oc20", "seed": {}, "epochs": 30}})", number));
  }
  void write_runs(const std::string& runs, int count) {
    for (int i = 1; i <= count; ++i) {
      write_run(runs, i, log(20.0 + (i % 3) - 1.0, std::to_string(100 + i)));
    }
  }

  PackageCommandOptions options() const {
    PackageCommandOptions options;
    options.round = "hpc-3.0";
    options.division = "closed";
    options.org = "us";
    options.system = path("demo.json");
    options.output = path("out");
    options.results = {path("runs")};
    return options;
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  struct Outcome {
    ExitCode code;
    std::string out, people;
  };
  static Outcome package(const PackageCommandOptions& options) {
    std::ostringstream out, people;
    const ExitCode code = analysis::command::package(options, out, people);
    return {code, out.str(), people.str()};
  }
  /// Expects a refusal that says `why` and leaves nothing behind.
  void expect_refusal(const PackageCommandOptions& options, const std::string& why) {
    const Outcome outcome = package(options);
    EXPECT_EQ(outcome.code, ExitCode::kNonCompliant) << outcome.people;
    EXPECT_THAT(outcome.people, HasSubstr("refused: "));
    EXPECT_THAT(outcome.people, HasSubstr(why));
    EXPECT_FALSE(fs::exists(path("out")));
  }

  base::TemporaryDirectory folder_;
};

TEST_F(Package, HoldsLogsByteForByteInTheLayoutOfTheRoundAndPassesTheCheck) {
  folder_.write("runs/result_1.telemetry.json",
                R"({"provenance": {"build": {"revision": "abc-dirty"}}})");
  const Outcome outcome = package(options());
  ASSERT_EQ(outcome.code, ExitCode::kSuccess) << outcome.people;
  const std::string set = "out/us/results/demo/strong/oc20/";
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(content(path(fmt::format("{}result_{}.txt", set, i))),
              content(path(fmt::format("runs/result_{}.txt", i + 1))));
  }
  EXPECT_EQ(content(path("out/us/systems/demo.json")), content(path("demo.json")));
  const std::string implementation = "out/us/benchmarks/oc20/implementations/demo/";
  EXPECT_EQ(json::parse(content(path(implementation + "config.json"))),
            json::parse(R"({"workload": "oc20", "epochs": 30})"));
  EXPECT_THAT(content(path(implementation + "README.md")),
              AllOf(HasSubstr("trainmark run config.json --runs 5"), HasSubstr("| 103 |"),
                    HasSubstr("revision abc-dirty"), HasSubstr("not committed: add them")));
  EXPECT_THAT(outcome.out, HasSubstr("package " + path("out/us") + ": written"));
  auto check = checking::reading({path("out")});
  check.submission = true;
  check.round = "hpc-3.0";
  EXPECT_EQ(checking::check(check).code, ExitCode::kSuccess);
}

TEST_F(Package, NamesTheConfigurationAsTheLogsDisclose) {
  const std::string implementation = "out/us/benchmarks/oc20/implementations/demo/";
  for (const auto& [disclosed, name] :
       {std::pair("oc20_16.json", "oc20_16.json"), std::pair("../oc20.json", "config.json"),
        std::pair("README.md", "config.json")}) {
    for (int i = 1; i <= 5; ++i) {
      const std::string record =
          golden::record("config_filename", fmt::format("\"{}\"", disclosed));
      write_run("runs", i, record + log(20.0 + (i % 3) - 1.0, std::to_string(100 + i)));
    }
    ASSERT_EQ(package(options()).code, ExitCode::kSuccess) << disclosed;
    EXPECT_TRUE(fs::exists(path(implementation + name))) << disclosed;
    EXPECT_THAT(content(path(implementation + "README.md")),
                HasSubstr(fmt::format("trainmark run {} --runs 5", name)));
    fs::remove_all(path("out"));
  }
}

TEST_F(Package, WritesNothingInADryRunAndTellsAllOfIt) {
  PackageCommandOptions dry = options();
  dry.dry_run = true;
  dry.json = "-";
  const Outcome outcome = package(dry);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.people;
  EXPECT_FALSE(fs::exists(path("out")));
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["verdict"], "would pass");
  EXPECT_THAT(document["files"], SizeIs(8));
  EXPECT_EQ(document["files"][1]["file"], "results/demo/strong/oc20/result_0.txt");
  EXPECT_EQ(document["check"]["submission"]["verdict"], "SUCCESS");
}

TEST_F(Package, BuildsInAFolderOfItsOwnWhateverOthersPutInTheWay) {
  const std::string temporary = path("tmp"), victim = path("victim");
  fs::create_directories(temporary);
  fs::create_directories(victim);
  const std::string planted = fmt::format("{}/.trainmark-package-{}", temporary, ::getpid());
  fs::create_directory_symlink(victim, planted);
  const char* const set = std::getenv("TMPDIR");
  const std::string before = set == nullptr ? "" : set;
  ::setenv("TMPDIR", temporary.c_str(), 1);
  PackageCommandOptions dry = options();
  dry.dry_run = true;
  EXPECT_EQ(package(dry).code, ExitCode::kSuccess);
  set == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_TRUE(fs::is_symlink(planted));
  EXPECT_TRUE(fs::is_empty(victim));
  EXPECT_EQ(std::distance(fs::directory_iterator(temporary), {}), 1) << "nothing else is left";
}

TEST_F(Package, LeavesAFolderThatWasThereBeforeARefusal) {
  fs::create_directories(path("there"));
  PackageCommandOptions refused = options();
  refused.org = "others";
  for (const char* const output : {"there", "there/deep/er"}) {
    refused.output = path(output);
    EXPECT_EQ(package(refused).code, ExitCode::kNonCompliant);
    EXPECT_TRUE(fs::is_empty(path("there")));
  }
}

TEST_F(Package, HoldsThePowerThatWasMeasuredBesideTheLogs) {
  const std::string watts = golden::node_log(golden::readings(70, [](int) { return 500.0; }));
  for (int i = 1; i <= 5; ++i) {
    folder_.write(fmt::format("runs/power/result_{}/node_0.txt", i), watts);
    folder_.write(fmt::format("runs/power/result_{}/sw_0.txt", i), golden::switch_log(40.0 + i));
  }
  const Outcome outcome = package(options());
  ASSERT_EQ(outcome.code, ExitCode::kSuccess) << outcome.people;
  const std::string set = "out/us/results/demo/strong/oc20/";
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(content(path(fmt::format("{}power/result_{}/node_0.txt", set, i))), watts);
    EXPECT_EQ(content(path(fmt::format("{}power/result_{}/sw_0.txt", set, i))),
              golden::switch_log(41.0 + i));
  }
  EXPECT_THAT(outcome.people, Not(HasSubstr("(power.")));
}

TEST_F(Package, TellsOfRunsWithoutTheirPower) {
  const std::string watts = golden::node_log(golden::readings(70, [](int) { return 500.0; }));
  for (const int i : {1, 2, 4}) {
    folder_.write(fmt::format("runs/power/result_{}/node_0.txt", i), watts);
  }
  expect_refusal(options(), "(package.failing-runs)");
  EXPECT_THAT(package(options()).people, HasSubstr("(power.missing)"));
  fs::create_directories(path("runs/power/result_1/more"));
  expect_refusal(options(), "runs/power/result_1/more: expected files node_<number>");
}

TEST_F(Package, RefusesTooFewRunsAndTooMany) {
  fs::remove(path("runs/result_5.txt"));
  expect_refusal(options(), "expected 5 runs of oc20, found 4; trainmark run CONFIG --runs 5");
  write_runs("runs", 7);
  expect_refusal(options(), "found 7; give 5 consecutive logs in place of the folder");
}

TEST_F(Package, TakesTheWindowOfAGroupWhoseScoreIsTheMedian) {
  for (int i = 1; i <= 7; ++i) {
    const std::string text = log(20.0 + (i % 3) - 1.0, std::to_string(100 + i));
    // Launched in the reverse order.
    write_run("runs", i, checking::timed(text, 3600.0 * (7 - i), 60.0 * i * i));
  }
  PackageCommandOptions group = options();
  group.runs = 7;
  const Outcome outcome = package(group);
  ASSERT_EQ(outcome.code, ExitCode::kSuccess) << outcome.people;
  EXPECT_THAT(outcome.people,
              HasSubstr("window 2 of 3, whose score is the median: result_6.txt, result_5.txt, "
                        "result_4.txt, result_3.txt, result_2.txt; keep all 7 logs"));
  EXPECT_EQ(content(path("out/us/results/demo/strong/oc20/result_0.txt")),
            content(path("runs/result_6.txt")));
  EXPECT_FALSE(fs::exists(path("out/us/results/demo/strong/oc20/result_5.txt")));
}

TEST_F(Package, RefusesAGroupThatIsNotWhole) {
  PackageCommandOptions group = options();
  group.runs = 6;
  expect_refusal(group, "expected the logs of 6 runs, found 5; of a group all are needed");
}

TEST_F(Package, TakesConsecutiveLogsAndRefusesThoseThatWerePicked) {
  write_runs("runs", 7);
  PackageCommandOptions chosen = options();
  chosen.results.clear();
  for (const int i : {1, 2, 3, 5, 7}) {
    chosen.results.push_back(path(fmt::format("runs/result_{}.txt", i)));
  }
  expect_refusal(chosen, "result_4.txt, result_6.txt left out between the given logs");
  chosen.results.clear();
  for (int i = 3; i <= 7; ++i) {
    chosen.results.push_back(path(fmt::format("runs/result_{}.txt", i)));
  }
  EXPECT_EQ(package(chosen).code, ExitCode::kSuccess);
}

TEST_F(Package, RefusesLogsOfAnotherSubmitterOrDivisionAndSaysWhatToSet) {
  write_run("runs", 2, log(20.0, "102", "them"));
  expect_refusal(options(),
                 "submission_org: expected 'us', found 'them' in result_2.txt; logs are never "
                 "changed: run again with --set submission.org='us'");
  write_runs("runs", 5);
  PackageCommandOptions open = options();
  open.division = "open";
  expect_refusal(open, "run again with --set submission.division='open'");
}

TEST_F(Package, RefusesADescriptionOfAnotherSubmitterAndSaysHowToChangeIt) {
  write_description("\"them\"");
  expect_refusal(options(),
                 "submitter: expected 'us', found \"them\"; to change it: trainmark "
                 "system --submitter 'us' --json " +
                     path("demo.json"));
}

TEST_F(Package, RefusesPlaceholders) {
  for (int i = 1; i <= 5; ++i) {
    write_run("runs", i, log(20.0 + i % 3 - 1.0, std::to_string(i), "SUBMISSION_ORG_PLACEHOLDER"));
  }
  PackageCommandOptions placeholder = options();
  placeholder.org = "SUBMISSION_ORG_PLACEHOLDER";
  write_description("\"SUBMISSION_ORG_PLACEHOLDER\"");
  expect_refusal(placeholder, "a placeholder: submission_org");
}

TEST_F(Package, RefusesEqualSeeds) {
  write_run("runs", 4, log(20.0, "102"));
  expect_refusal(options(), "seed 102 in result_2.txt, result_4.txt");
}

TEST_F(Package, RefusesRunsThatWereResumed) {
  const std::string text = log(20.0, "104");
  const std::size_t stop = text.find_last_of('\n', text.find("\"run_stop\"")) + 1;
  write_run("runs", 4,
            text.substr(0, stop) + golden::record("resumed", "true") + text.substr(stop));
  expect_refusal(options(), "resumed from a checkpoint: result_4.txt");
}

TEST_F(Package, ForgivesOneFailedRunAndRefusesTwo) {
  const auto fail = [&](int number) {
    std::string text = log(20.0, std::to_string(100 + number));
    text.replace(text.find("\"value\": 0.03"), 13, "\"value\": 0.93");
    write_run("runs", number, text);
  };
  fail(1);
  const Outcome outcome = package(options());
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.people;
  EXPECT_THAT(outcome.people, HasSubstr("counts as the slowest"));
  fs::remove_all(path("out"));
  fail(2);
  expect_refusal(options(), "2 runs failed, at most 1 may: result_1.txt, result_2.txt");
}

TEST_F(Package, RefusesRunsThatConvergeFasterThanTheReference) {
  for (int i = 1; i <= 5; ++i) write_run("runs", i, log(8.0, std::to_string(i)));
  expect_refusal(options(), "(rcp.");
}

TEST_F(Package, RefusesRunsOfSeveralConfigurations) {
  folder_.write("runs/result_3.config.json", R"({"workload": "oc20", "seed": 3, "epochs": 31})");
  expect_refusal(options(),
                 "the configurations of result_1.txt and result_3.txt differ at /epochs");
}

TEST_F(Package, RefusesABenchmarkThatTheRoundDoesNotHave) {
  PackageCommandOptions training = options();
  training.round = "training-4.0";
  expect_refusal(training, "oc20 is no benchmark of training 4.0; those are resnet, ");
}

TEST_F(Package, PutsWeakSetsAndTheirPrunedRunsIntoPlaces) {
  write_runs("runs", 7);
  folder_.write("runs/set.json", R"({"mode": "together"})");
  folder_.write("runs/set_summary.json", R"({"pruned": [2]})");
  write_run("runs", 6, log(20.0, "101"));  // the seed of run 1
  const Outcome outcome = package(options());
  ASSERT_EQ(outcome.code, ExitCode::kSuccess) << outcome.people;
  const std::string set = path("out/us/results/demo/weak/oc20/");
  EXPECT_EQ(content(set + "result_1.txt"), content(path("runs/result_3.txt")));
  EXPECT_EQ(content(set + "pruned_results/result_5.txt"), content(path("runs/result_2.txt")));
  EXPECT_EQ(content(set + "pruned_results/result_6.txt"), content(path("runs/result_6.txt")));
  EXPECT_THAT(outcome.people, HasSubstr("result_6.txt goes to pruned_results: the seed of"));
  EXPECT_THAT(content(path("out/us/benchmarks/oc20/implementations/demo/README.md")),
              HasSubstr("trainmark run config.json --runs 7 --together"));
}

TEST_F(Package, LeavesTheImplementationOfForeignLogsToTheSubmitter) {
  for (int i = 1; i <= 5; ++i) fs::remove(path(fmt::format("runs/result_{}.config.json", i)));
  const Outcome outcome = package(options());
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.people;
  EXPECT_THAT(outcome.people, HasSubstr("no configuration beside the logs: add the source"));
  EXPECT_FALSE(fs::exists(path("out/us/benchmarks")));
}

TEST_F(Package, LeavesOutWhatWasCutOff) {
  folder_.write("runs/cut_off/result_9.txt", "nothing of use\n");
  EXPECT_EQ(package(options()).code, ExitCode::kSuccess);
}

TEST_F(Package, AddsASystemToWhatIsThereOnlyWhenAsked) {
  ASSERT_EQ(package(options()).code, ExitCode::kSuccess);
  EXPECT_THROW(package(options()), base::ConfigError);
  write_runs("more", 5);
  for (int i = 1; i <= 5; ++i) write_run("more", i, log(20.0 + i % 3 - 1, std::to_string(200 + i)));
  folder_.write("other.json", golden::description("submitter", "\"us\""));
  PackageCommandOptions more = options();
  more.add = true;
  more.results = {path("more")};
  EXPECT_THROW(package(more), base::ConfigError) << "other logs of the same system";
  more.system = path("other.json");
  const Outcome outcome = package(more);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.people;
  EXPECT_TRUE(fs::exists(path("out/us/results/demo/strong/oc20/result_0.txt")));
  EXPECT_TRUE(fs::exists(path("out/us/results/other/strong/oc20/result_0.txt")));
  EXPECT_EQ(std::distance(fs::directory_iterator(path("out")), fs::directory_iterator()), 1);
}

TEST_F(Package, AnswersMissingResultsWithDataAndWrongRoundsWithUsage) {
  PackageCommandOptions missing = options();
  missing.results = {path("nowhere")};
  EXPECT_EQ(package(missing).code, ExitCode::kData);
  PackageCommandOptions wrong = options();
  wrong.round = "hpc-9.9";
  EXPECT_THROW(package(wrong), base::ConfigError);
  wrong = options();
  wrong.org = "..";
  EXPECT_THROW(package(wrong), base::ConfigError);
}

}  // namespace
