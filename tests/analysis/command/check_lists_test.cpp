// The lists of `check`: rules of a benchmark, and rounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/command/check.h"
#include "analysis/command/checking.h"

namespace {

using analysis::command::CheckOptions;
using base::ExitCode;
using checking::check;
using checking::Outcome;
using checking::refusal;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(Check, ListsTheRulesInWords) {
  CheckOptions options;
  options.rules = "deepcam";
  options.round = "hpc-3.0";
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess);
  EXPECT_THAT(outcome.out, HasSubstr("hpc-3.0.0"));
  EXPECT_THAT(outcome.out, HasSubstr("closed_deepcam_cosine_annealing"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("oc20_")));
  EXPECT_THAT(outcome.out, HasSubstr("- seed: exactly one record"));
  options.json = "-";
  const json document = json::parse(check(options).out);
  EXPECT_EQ(document["ruleset"], "hpc-3.0.0");
  EXPECT_EQ(document["files"][0]["file"], "common");
}

TEST(Check, ListsTheNewestRoundUnlessToldAnother) {
  CheckOptions options;
  options.rules = "resnet";
  EXPECT_THAT(check(options).out, HasSubstr("training-4.0.0"));
  options.rules = "bert";
  const Outcome bert = check(options);
  EXPECT_THAT(bert.out, HasSubstr("Rules of training-5.0.0"));
  EXPECT_THAT(bert.out, HasSubstr("closed_bert"));
  options.rules = "nonsense";
  EXPECT_THAT(refusal(options), HasSubstr("no round has rules for the benchmark nonsense"));
  options.rules = "oc20";
  options.round = "hpc-0.7";
  EXPECT_THAT(refusal(options), HasSubstr("it lists cosmoflow, deepcam"));
}

TEST(Check, ListsTheRounds) {
  CheckOptions options;
  options.rounds = true;
  const Outcome outcome = check(options);
  EXPECT_THAT(outcome.out, HasSubstr("hpc-3.0 (2023-11-08): deepcam, cosmoflow, oc20, openfold; "));
  EXPECT_THAT(outcome.out, HasSubstr("7bbf792, hpc_3.0.0"));
  options.json = "-";
  EXPECT_GT(json::parse(check(options).out)["rounds"].size(), 16u);
}

TEST(CheckLists, TakeNoOptionsOfJudging) {
  for (const auto set :
       {+[](CheckOptions& o) { o.rcp = true; }, +[](CheckOptions& o) { o.submission = true; },
        +[](CheckOptions& o) { o.sarif = "x"; }, +[](CheckOptions& o) { o.junit = "x"; },
        +[](CheckOptions& o) { o.werror = true; }}) {
    CheckOptions list;
    list.rounds = true;
    set(list);
    EXPECT_THAT(refusal(list), HasSubstr("usage: check"));
  }
  CheckOptions two;
  two.rounds = true;
  two.rcps = "oc20";
  EXPECT_THAT(refusal(two), HasSubstr("expected one of --rules, --rounds, --rcps and --explain"));
}

TEST(CheckLists, ReferencePointsOfTheNewestRoundOrAnother) {
  CheckOptions options;
  options.rcps = "oc20";
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess);
  EXPECT_THAT(outcome.out, HasSubstr("Reference points of hpc-3.0 for oc20"));
  options.json = "-";
  options.round = "hpc-1.0";
  const json document = json::parse(check(options).out);
  EXPECT_EQ(document["round"], "1.0");
  EXPECT_EQ(document["unit"], "epochs");
  ASSERT_EQ(document["points"].size(), 3u);
  // The mean of the ten published runs without the fastest and the slowest.
  EXPECT_DOUBLE_EQ(document["points"][0]["mean"], (18 + 19 + 19 + 20 + 20 + 20 + 21 + 21) / 8.0);
  EXPECT_EQ(document["points"][0]["batch_size"], 256.0);
  options.round = "hpc-0.7";
  EXPECT_THAT(refusal(options),
              HasSubstr("--rcps: no reference points for oc20 in hpc-0.7; there are some in "
                        "hpc-1.0, hpc-2.0, hpc-3.0"));
  options.round = "";
  options.rcps = "nonsense";
  EXPECT_THAT(refusal(options), HasSubstr("there are some for bert, cosmoflow, "));
}

}  // namespace
