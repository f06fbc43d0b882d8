// The command `analyze`: its outputs and exit codes.
#include "analysis/command/analyze.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/command/commands.h"
#include "analysis/command/outcome.h"
#include "analysis/golden.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::command::AnalyzeOptions;
using base::ExitCode;
using checking::Outcome;
using testing::HasSubstr;

Outcome analyze(const AnalyzeOptions& options) {
  std::ostringstream out, people;
  const ExitCode code = analysis::command::analyze(options, out, people, 80);
  return {code, out.str(), people.str()};
}

AnalyzeOptions analyzing(const std::vector<std::string>& paths) {
  AnalyzeOptions options;
  options.paths = paths;
  return options;
}

TEST(Analyze, SucceedsWhenEverythingCouldBeRead) {
  const Outcome outcome =
      analyze(analyzing({golden::folder("success"), golden::folder("aborted")}));
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << "an aborted run is an answer, not a failure";
  EXPECT_THAT(outcome.out, HasSubstr("aborted"));
  EXPECT_EQ(outcome.people, "");
}

TEST(Analyze, SaysWhenSomeLogsCouldNotBeRead) {
  const Outcome outcome = analyze(analyzing({golden::folder("success"), golden::folder("empty")}));
  EXPECT_EQ(outcome.code, ExitCode::kIncomplete);
  EXPECT_THAT(outcome.people, HasSubstr("empty/result_1.txt: expected lines with ':::MLLOG '"));
}

TEST(Analyze, SaysWhenNothingIsALog) {
  EXPECT_EQ(analyze(analyzing({golden::folder("binary")})).code, ExitCode::kData);
  const base::TemporaryDirectory folder;
  EXPECT_EQ(analyze(analyzing({folder.path().string()})).code, ExitCode::kData);
}

TEST(Analyze, ShowsSystemsSideBySide) {
  AnalyzeOptions options = analyzing({golden::folder("set")});
  options.joint = true;
  const Outcome outcome = analyze(options);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess);
  EXPECT_THAT(outcome.out, HasSubstr("resnet: systems side by side"));
  EXPECT_THAT(outcome.out, HasSubstr("\nFindings\n")) << "what is wrong with logs is told, too";
}

TEST(Analyze, RefusesSystemsSideBySideWithoutText) {
  AnalyzeOptions options = analyzing({golden::folder("set")});
  options.joint = true;
  options.quiet = true;
  EXPECT_THROW(analyze(options), base::ConfigError);
  options.quiet = false;
  options.json = "-";
  EXPECT_THROW(analyze(options), base::ConfigError);
}

TEST(Analyze, SaysWhenAPathIsMissing) {
  const Outcome outcome = analyze(analyzing({golden::folder("success"), "/no/such/path"}));
  EXPECT_EQ(outcome.code, ExitCode::kData);
  EXPECT_THAT(outcome.people, HasSubstr("/no/such/path: no such file or folder"));
  EXPECT_THAT(outcome.out, HasSubstr("eval_accuracy")) << "the rest is still told";
}

TEST(Analyze, ReadsStandardInput) {
  std::ifstream log(golden::folder("success") + "/result_1.txt", std::ios::binary);
  ASSERT_TRUE(log);
  AnalyzeOptions options = analyzing({"-"});
  options.standard_input = &log;
  const Outcome outcome = analyze(options);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.people;
  EXPECT_THAT(outcome.out, HasSubstr("eval_accuracy"));
}

TEST(Analyze, SaysTheSameOnAnyNumberOfThreads) {
  std::vector<std::string> texts;
  for (const int threads : {1, 2, 5}) {
    AnalyzeOptions options = analyzing({golden::folder("")});
    options.threads = threads;
    options.json = "-";
    texts.push_back(analyze(options).out);
  }
  EXPECT_GT(texts[0].size(), 1000u);
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[0], texts[2]);
}

TEST(Analyze, WritesOneJsonDocumentAndNothingElseToStandardOutput) {
  AnalyzeOptions options = analyzing({golden::folder("set")});
  options.json = "-";
  const Outcome outcome = analyze(options);
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["files"].size(), 6u);
  EXPECT_EQ(report["systems"].size(), 1u);
}

TEST(Analyze, WritesNoFileOverOneThatIsReadWithALog) {
  const base::TemporaryDirectory folder;
  folder.write("us/results/box/resnet/result_1.txt", golden::ten_seconds_log());
  for (const char* name :
       {"us/results/box/resnet/result_1.telemetry.json",
        "us/results/box/resnet/result_1.config.json", "us/results/box/resnet/result_1.trace.json",
        "us/results/box/resnet/result_1.live.json", "us/results/box/resnet/result_1.weights.h5",
        "us/results/box/resnet/result_1.checkpoints/checkpoint_0001_step_2.h5",
        "us/results/box/resnet/scaling.json", "us/systems/box.json"}) {
    const std::string path = folder.write(name, "{}");
    AnalyzeOptions options = analyzing({folder.path().string()});
    options.json = path;
    EXPECT_THROW(analyze(options), base::ConfigError) << name;
    EXPECT_EQ(base::content(path), "{}") << name;
  }
}

TEST(Analyze, WritesTheFilesAskedForAndNamesThem) {
  const base::TemporaryDirectory folder;
  AnalyzeOptions options = analyzing({golden::folder("set")});
  options.json = (folder.path() / "new" / "report.json").string();
  options.csv = (folder.path() / "tables").string();
  options.html = (folder.path() / "report.html").string();
  const Outcome outcome = analyze(options);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess);
  for (const char* name : {"new/report.json", "tables/runs.csv", "tables/convergence.csv",
                           "tables/subsystems.csv", "tables/waiting.csv", "tables/transfers.csv",
                           "tables/staging.csv", "tables/systems.csv", "report.html"}) {
    EXPECT_GT(golden::fs::file_size(folder.path() / name), 0u) << name;
    EXPECT_THAT(outcome.people, HasSubstr(name));
  }
}

TEST(Analyze, WritesTheRunsAloneIntoANamedCsvFile) {
  const base::TemporaryDirectory folder;
  AnalyzeOptions options = analyzing({golden::folder("success")});
  options.csv = (folder.path() / "mine.csv").string();
  analyze(options);
  EXPECT_TRUE(golden::fs::is_regular_file(folder.path() / "mine.csv"));
}

TEST(Analyze, IsQuietWhenAsked) {
  AnalyzeOptions options = analyzing({golden::folder("success")});
  options.quiet = true;
  const Outcome outcome = analyze(options);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.people, "");
}

TEST(Analyze, NeverReplacesALogByItsReport) {
  const base::TemporaryDirectory folder;
  const std::string text = base::content(golden::folder("success") + "/result_1.txt");
  AnalyzeOptions options = analyzing({folder.write("result_1.txt", text)});
  options.html = options.paths[0];
  EXPECT_THROW(analyze(options), base::ConfigError);
  EXPECT_EQ(base::content(options.paths[0]), text);
}

TEST(Analyze, WritesNothingIntoWhatItReads) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", base::content(golden::folder("success") + "/result_1.txt"));
  analyze(analyzing({folder.path().string()}));
  const golden::fs::directory_iterator entries(folder.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(Analyze, TellsWhyAFileCannotBeWritten) {
  AnalyzeOptions options = analyzing({golden::folder("success")});
  options.html = "/proc/no/report.html";
  EXPECT_THROW(analyze(options), base::SystemError);
}

TEST(Commands, NeedNoRanksAndHaveExamples) {
  const auto commands = analysis::command::commands();
  std::vector<std::string> names;
  for (const base::Command& command : commands) {
    names.push_back(command.name);
    EXPECT_FALSE(command.needs_mpi) << command.name;
    EXPECT_THAT(command.example, HasSubstr("trainmark " + command.name));
  }
  EXPECT_THAT(names,
              testing::ElementsAre("analyze", "check", "compare", "history", "status", "package"));
}

}  // namespace
