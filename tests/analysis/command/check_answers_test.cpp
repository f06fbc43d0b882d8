// The options of `check` for answers to findings: hints, suppressions, scaling.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "analysis/command/checked_submission.h"
#include "runner/base/content.h"

namespace {

using analysis::command::CheckOptions;
using base::ExitCode;
using base::TemporaryDirectory;
using checking::check;
using checking::good_log;
using checking::Outcome;
using checking::reading;
using checking::refusal;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using CheckSubmission = checking::CheckedSubmission;

constexpr char kAnswered[] = R"({
  // The clock is known to be coarse.
  "suppressions": [
    {"rule": "aborted-*", "path": "hpc_v1.0/*", "reason": "asked and answered"},
    {"rule": "seed-missing", "path": "elsewhere/*", "reason": "none"}
  ]
})";

class Suppressions : public testing::Test {
 protected:
  Suppressions() {
    for (const char* const name : {"hpc_v1.0/a/result_1.txt", "hpc_v1.0/b/result_1.txt"}) {
      folder_.write(name, good_log());
    }
    options_ = reading({folder_.path().string()});
    options_.suppress = answers_.write("answers.json", kAnswered);
  }
  void expect_refusal(const std::string& text, const std::string& why) {
    options_.suppress = answers_.write("answers.json", text);
    EXPECT_THAT(refusal(options_),
                AllOf(HasSubstr("usage: "), HasSubstr("answers.json"), HasSubstr(why)));
  }

  TemporaryDirectory folder_, answers_;
  CheckOptions options_;
};

TEST_F(Suppressions, KeepFindingsButDoNotTellThem) {
  CheckOptions plain = options_;
  plain.suppress = "";
  EXPECT_THAT(check(plain).out, HasSubstr("[aborted-yet-counted]"));
  const Outcome outcome = check(options_);
  EXPECT_THAT(outcome.out,
              AllOf(Not(HasSubstr("[aborted-yet-counted]")), HasSubstr("; 2 findings suppressed"),
                    HasSubstr("[seed-missing]")));
  EXPECT_EQ(outcome.code, check(plain).code);
  EXPECT_THAT(outcome.people, HasSubstr("seed-missing of elsewhere/*: no finding left"));
}

TEST_F(Suppressions, StandInEveryReportWithTheirReason) {
  const TemporaryDirectory written;
  options_.json = "-";
  options_.sarif = (written.path() / "out.sarif").string();
  options_.junit = (written.path() / "out.xml").string();
  const json document = json::parse(check(options_).out);
  EXPECT_EQ(document["suppressions"][0]["findings"], 2);
  EXPECT_EQ(document["suppressions"][1]["findings"], 0);
  int suppressed = 0;
  for (const json& one : document["files"]["hpc_v1.0/a/result_1.txt"]["audit"]) {
    if (one["suppressed_because"] == "asked and answered") ++suppressed;
  }
  EXPECT_EQ(suppressed, 1);
  suppressed = 0;
  const json sarif = json::parse(base::content(options_.sarif));
  for (const json& one : sarif["runs"][0]["results"]) {
    if (!one.contains("suppressions")) continue;
    ++suppressed;
    EXPECT_EQ(one["suppressions"][0]["kind"], "external");
    EXPECT_EQ(one["suppressions"][0]["justification"], "asked and answered");
  }
  EXPECT_EQ(suppressed, 2);
  EXPECT_THAT(base::content(options_.junit), HasSubstr("(suppressed: asked and answered)"));
}

TEST_F(Suppressions, NeedAFileThatSaysWhatAndWhy) {
  expect_refusal("[", "line 1, column 2: not valid JSON");
  expect_refusal("[]", R"(must be {"suppressions": [...]} and nothing else)");
  expect_refusal(R"({"suppressions": [], "more": 1})", "and nothing else");
  expect_refusal(R"({"suppressions": [{"rule": "seed-missing", "path": "*"}]})",
                 "/suppressions/0: /reason: ");
  expect_refusal(R"({"suppressions": [{"rule": "seed-missing", "path": "*", "reason": ""}]})",
                 "/reason");
  expect_refusal(R"({"suppressions": [{"rule": "seed-missin", "path": "*", "reason": "x"}]})",
                 "did you mean seed-missing?");
  expect_refusal(
      R"({"suppressions": [{"rule": "common/run_stop/count", "path": "*", "reason": "x"}]})",
      "rules of verdicts are never suppressed");
  expect_refusal(R"({"suppressions": [{"rule": "*", "path": "*", "reason": "x", "y": 1}]})", "/y");
  options_.suppress = "nowhere.json";
  EXPECT_THAT(refusal(options_), HasSubstr("--suppress nowhere.json: "));
}

TEST_F(CheckSubmission, NeverSuppressesWhatFailsIt) {
  tree_.remove("us/systems/demo.json");
  const TemporaryDirectory answers;
  CheckOptions answered = options();
  answered.suppress = answers.write(
      "answers.json",
      R"({"suppressions": [{"rule": "system.missing", "path": "*", "reason": "no"},)"
      R"({"rule": "package.no-benchmarks", "path": "*", "reason": "kept elsewhere"}]})");
  const Outcome outcome = check(answered);
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("[system.missing]"), HasSubstr("submission: FAIL")));
  EXPECT_THAT(outcome.people,
              HasSubstr("system.missing of *: 1 not suppressed, as they fail the submission"));
}

TEST_F(CheckSubmission, TellsWhatToDoOncePerRule) {
  tree_.remove("us/systems/demo.json");
  tree_.write("them/results/other/strong/oc20/result_0.txt", "");
  CheckOptions hinting = options();
  EXPECT_THAT(check(hinting).out, Not(HasSubstr("what to do:")));
  hinting.fix_hints = true;
  const std::string out = check(hinting).out;
  const std::string hint = "    what to do: Add systems/<system>.json;";
  const std::size_t first = out.find(hint);
  ASSERT_NE(first, std::string::npos) << out;
  EXPECT_EQ(out.find(hint, first + 1), std::string::npos);
  EXPECT_GT(out.find("[system.missing]", first), first) << "the rule fails twice";
}

class WriteScaling : public CheckSubmission {
 protected:
  WriteScaling() {
    // 18, 19, 20, 18, 19: faster than the reference, yet by no more than chance allows.
    write_runs(19.0);
    scaling_ = tree_.path(golden::SubmissionTree::kFolder) / "scaling.json";
    options_ = options();
    options_.write_scaling = true;
  }
  std::filesystem::path scaling_;
  CheckOptions options_;
};

TEST_F(WriteScaling, MakesTheFileThatTheTestAsksFor) {
  EXPECT_THAT(check(options()).out, HasSubstr("[scaling.differs]"));
  EXPECT_FALSE(std::filesystem::exists(scaling_)) << "not without being asked";
  EXPECT_THAT(check(options_).people, HasSubstr("wrote " + scaling_.string()));
  const double factor =
      json::parse(base::content(scaling_.string()))["scaling_factor"].get<double>();
  EXPECT_NEAR(factor, 19.75 / (56.0 / 3.0), 1e-9) << "reference mean / olympic mean";
  const Outcome again = check(options_);
  EXPECT_THAT(again.out, Not(HasSubstr("[scaling.differs]")));
  EXPECT_THAT(again.people, Not(HasSubstr("wrote")));
  EXPECT_EQ(
      checked(
          options())["submission"]["folders"][golden::SubmissionTree::kFolder]["scaling_factor"],
      factor);
}

TEST_F(WriteScaling, KeepsTheFactorOfAReview) {
  const std::string reviewed = R"({"scaling_factor": 1.5})";
  tree_.write(golden::SubmissionTree::kFolder + "/scaling.json", reviewed);
  EXPECT_THAT(check(options_).people,
              HasSubstr("kept its 1.500000, though the RCP test gives 1.0"));
  EXPECT_EQ(base::content(scaling_.string()), reviewed);
}

TEST_F(WriteScaling, MakesNoneWhereTheTestFails) {
  write_runs(10.0);
  check(options_);
  EXPECT_FALSE(std::filesystem::exists(scaling_));
  options_.submission = false;
  EXPECT_THAT(refusal(options_), HasSubstr("--write-scaling needs --submission"));
}

}  // namespace
