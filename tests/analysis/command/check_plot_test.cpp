// `trainmark check --plot` and `--bootstrap`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "analysis/command/checking.h"
#include "analysis/command/commands.h"
#include "analysis/submission/submission_tree.h"

namespace {

using analysis::command::CheckOptions;
using base::ExitCode;
using checking::check;
using checking::Outcome;
using checking::reading;
using checking::refusal;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

CheckOptions points_of(const std::string& benchmark) {
  CheckOptions options;
  options.rcps = benchmark;
  return options;
}

TEST(CheckPlot, DrawsPointsBelowTheirTableAndIntoAFile) {
  const base::TemporaryDirectory folder;
  CheckOptions options = points_of("oc20");
  options.plot = (folder.path() / "points.svg").string();
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("mean epochs until the target is reached"),
                                 HasSubstr("O mean of a reference point")));
  EXPECT_THAT(outcome.people, HasSubstr("wrote "));
  EXPECT_THAT(content(options.plot), AllOf(HasSubstr("<svg "), HasSubstr("oc20, hpc-3.0")));
}

TEST(CheckPlot, OverlaysTestedSets) {
  golden::SubmissionTree tree;
  const base::TemporaryDirectory folder;
  for (const bool whole : {false, true}) {
    CheckOptions options = reading({tree.path().string()});
    options.round = "hpc-3.0";
    (whole ? options.submission : options.rcp) = true;
    options.plot = (folder.path() / "sets.svg").string();
    const Outcome outcome = check(options);
    EXPECT_THAT(outcome.out, Not(HasSubstr("O mean of a reference point")));
    EXPECT_THAT(content(options.plot),
                AllOf(HasSubstr("strong/oc20</text>"), HasSubstr("set that passes")));
    options.plot = "-";
    EXPECT_THAT(check(options).out,
                AllOf(HasSubstr("Reference convergence points: oc20, hpc-3.0"),
                      HasSubstr("O mean of a reference point"), HasSubstr("passes")));
  }
}

TEST(CheckPlot, ReplacesNothingThatIsRead) {
  golden::SubmissionTree tree;
  const std::string log = tree.path(golden::SubmissionTree::kFolder + "/result_0.txt");
  CheckOptions options = reading({tree.path().string()});
  options.round = "hpc-3.0";
  options.rcp = true;
  options.plot = log;
  EXPECT_THAT(refusal(options), HasSubstr("is one of the files that are read"));
  options.rcp = false;
  options.submission = true;
  options.plot = tree.path("new.svg").string();
  EXPECT_THAT(refusal(options), HasSubstr("which is read"));

  const base::TemporaryDirectory folder;
  CheckOptions points = points_of("oc20");
  points.custom_rcps = folder.write(
      "rcps.json", R"({"a": {"Benchmark": "oc20", "BS": 256, "Epochs to converge": [9, 9, 9]}})");
  points.usage = "hpc";
  points.plot = points.custom_rcps;
  EXPECT_THAT(refusal(points), HasSubstr("is one of the files that are read"));
  EXPECT_THAT(content(points.custom_rcps), HasSubstr("Benchmark"));
}

TEST(CheckPlot, NeedsPointsAndAPlaceOfItsOwn) {
  CheckOptions plain = reading({"x"});
  plain.plot = "x.svg";
  EXPECT_THAT(refusal(plain), HasSubstr("--plot needs --rcp, --rcps or --submission"));
  CheckOptions twice = points_of("oc20");
  twice.plot = twice.json = "same";
  EXPECT_THAT(refusal(twice), HasSubstr("--json already goes there"));
  twice.plot = twice.json = "-";
  EXPECT_THAT(refusal(twice), HasSubstr("--json already goes there"));
}

TEST(CheckBootstrap, TellsHowOftenTheReferencePasses) {
  CheckOptions options = points_of("oc20");
  options.bootstrap = 256;
  EXPECT_THAT(check(options).out, AllOf(HasSubstr("Bootstrap at batch size 256"),
                                        HasSubstr("seed 0;"), HasSubstr("quantile 50 %")));
  options.json = "-";
  const json zero = json::parse(check(options).out)["bootstrap"];
  EXPECT_EQ(zero["sets"], 10000);
  EXPECT_EQ(zero["runs_per_set"], 5);
  EXPECT_EQ(zero["quantiles"].size(), 5u);
  EXPECT_NEAR(zero["passing"].get<double>() + zero["failing"].get<double>(), 1.0, 1e-12);
  for (const char* const figure : {"passing", "failing", "standard_error", "mean", "stdev",
                                   "quantiles", "histogram", "sets"}) {
    EXPECT_TRUE(zero["definitions"].contains(figure)) << figure;
  }
  EXPECT_EQ(json::parse(check(options).out)["bootstrap"], zero);
  options.seed = 1;
  EXPECT_NE(json::parse(check(options).out)["bootstrap"]["histogram"], zero["histogram"]);
  options.bootstrap.reset();
  options.seed.reset();
  EXPECT_TRUE(json::parse(check(options).out)["bootstrap"].is_null());
}

TEST(CheckBootstrap, RefusesWhatHasNoRuns) {
  CheckOptions options = points_of("oc20");
  options.bootstrap = 512;
  EXPECT_THAT(refusal(options), AllOf(HasSubstr("usage: --bootstrap: oc20 has no reference runs"),
                                      HasSubstr("256, 1024, 2048")));
  CheckOptions judging = reading({"x"});
  judging.bootstrap = 256;
  EXPECT_THAT(refusal(judging), HasSubstr("--bootstrap needs --rcps"));
  CheckOptions seeded = points_of("oc20");
  seeded.seed = 1;
  EXPECT_THAT(refusal(seeded), HasSubstr("--seed needs --bootstrap"));
}

TEST(CheckBootstrap, TakesNoSeedThatWouldWrapAround) {
  const auto all = analysis::command::commands();
  const auto command = std::find_if(all.begin(), all.end(),
                                    [](const base::Command& one) { return one.name == "check"; });
  ASSERT_NE(command, all.end());
  for (const char* const seed : {"-1", "18446744073709551616", "1.5", "x", ""}) {
    CLI::App app;
    const base::Command::Action keeps_options = command->declare(app);
    const std::string line = std::string("--rcps oc20 --bootstrap 256 --seed=") + seed;
    EXPECT_THROW(app.parse(line), CLI::ParseError) << seed;
  }
  CLI::App app;
  const base::Command::Action keeps_options = command->declare(app);
  EXPECT_NO_THROW(app.parse("--rcps oc20 --bootstrap 256 --seed=18446744073709551615"));
}

}  // namespace
