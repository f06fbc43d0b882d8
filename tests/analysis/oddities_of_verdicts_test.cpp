// Oddities of real logs: a synthetic log for each oddity of published results, and the figures and
// findings that the analysis must derive from it. Here: how runs end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/findings/make_report.h"
#include "analysis/oddities.h"

namespace {

using analysis::Outcome;
using analysis::RunReport;
using nlohmann::json;
using own_log::clean;
using own_log::field;
using own_log::found;
using own_log::judged;
using own_log::kRunS;
using own_log::Log;
using own_log::longer;
using own_log::move;
using own_log::rules_of;
using own_log::set_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A. Verdict of a run.

TEST(Oddity1, ASuccessThatMissedItsTargetHasFailed) {
  Log log = clean();
  log.at("eval_error", 2)["value"] = 0.12438;
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.outcome, Outcome::kTargetMissed);
  const auto finding = found(run, "success-below-target");
  EXPECT_EQ(finding.line, log.line("run_stop"));
  EXPECT_EQ(finding.column, 1);
  EXPECT_THAT(finding.text, HasSubstr("target 0.124: best 0.12438"));
}

TEST(Oddity2, ALogWithoutRunStopIsIncompleteAndCountsAsTheSlowest) {
  Log log = clean();
  log.erase("run_stop");
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.outcome, Outcome::kIncomplete);
  EXPECT_FALSE(run.facts.ttt_s);
  ASSERT_THAT(rules_of(run.findings), ElementsAre("run-stop-missing"));
  EXPECT_THAT(run.findings[0].text, HasSubstr("cut off, or still goes on"));
  const auto set = set_of({log, longer(1), longer(2), longer(3), longer(4)});
  EXPECT_DOUBLE_EQ(*set.facts.olympic_mean_s, kRunS + 3.0);
}

TEST(Oddity2, WhatWasOpenWhenARunWasCutOffIsNothingOdd) {
  Log log = clean();
  log.records.erase(log.find("eval_start", 2), log.records.end());  // inside the third epoch
  EXPECT_THAT(rules_of(judged(log).findings), ElementsAre("run-stop-missing"));
}

TEST(Oddity3, ALogThatDiedInItsInitialisationHasNoRun) {
  Log log = clean();
  log.records.erase(log.find("run_start"), log.records.end());
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.outcome, Outcome::kIncomplete);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("run-start-missing"));
}

TEST(Oddity4, AnAbortedRunHasATimeThatEntersNoMean) {
  for (const char* status : {"aborted", "abort", "fail"}) {
    Log log = clean();
    log["run_stop"]["metadata"]["status"] = status;
    log.at("eval_error", 2)["value"] = 0.2;
    const RunReport run = judged(log);
    EXPECT_EQ(run.facts.outcome, Outcome::kAborted) << status;
    EXPECT_DOUBLE_EQ(*run.facts.ttt_s, kRunS);
    EXPECT_EQ(found(run, "run-stop-aborted").line, log.line("run_stop"));
    const auto set = set_of({log, longer(1), longer(2), longer(3), longer(4)});
    EXPECT_DOUBLE_EQ(*set.facts.olympic_mean_s, kRunS + 3.0);
  }
}

TEST(Oddity4, AnAbortedRunAtItsTargetIsToldBecauseOthersCountIt) {
  Log log = clean();
  log["run_stop"]["metadata"]["status"] = "aborted";
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.outcome, Outcome::kAborted);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("aborted-yet-counted"));
}

TEST(Oddity5, RunsThatStopWithoutAStatusAreJudgedByTheirEvaluations) {
  Log log = clean();
  log["run_stop"]["metadata"].erase("status");
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.outcome, Outcome::kSuccess);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("run-stop-without-status"));
  log.at("eval_error", 2)["value"] = 0.2;
  EXPECT_EQ(judged(log).facts.outcome, Outcome::kTargetMissed);
}

TEST(Oddity6, AValueOfRunStopDecidesNothing) {
  for (const json& value : {json{{"success", false}}, json(17.25)}) {
    Log log = clean();
    log["run_stop"]["value"] = value;
    const RunReport run = judged(log);
    EXPECT_EQ(run.facts.outcome, Outcome::kSuccess);
    EXPECT_THAT(found(run, "run-stop-value").text, HasSubstr(value.dump()));
  }
}

TEST(Oddity7, TrainingPastTheTargetCountsInTheTimeButNotInTheEpochs) {
  Log log = clean();
  log.at("eval_error", 1)["value"] = 0.1;
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.ttt_s, kRunS);
  EXPECT_DOUBLE_EQ(*run.facts.time_to_target_s(), 23.0);
  EXPECT_DOUBLE_EQ(*run.facts.progress.epochs_to_target, 2.0);
  const auto finding = found(run, "trained-past-target");
  EXPECT_EQ(finding.line, log.line("eval_error", 1));
  EXPECT_THAT(finding.text, HasSubstr("goes on for 10 s and 1 more evaluations"));
}

TEST(Oddity8, WhatComesBehindRunStopDoesNotCount) {
  Log log = clean();
  for (int epoch = 4; epoch <= 10; ++epoch) {
    const json number = {{"epoch_num", epoch}};
    const double ms = 34000 + 10000.0 * (epoch - 4);
    log.add(ms + 1, "epoch_start", nullptr, number);
    log.add(ms + 9000, "eval_error", 0.5, number).add(ms + 9001, "epoch_stop", nullptr, number);
  }
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.evaluations.size(), 3u);
  EXPECT_DOUBLE_EQ(*run.facts.final_quality, 0.03);
  EXPECT_DOUBLE_EQ(*run.facts.progress.epochs_run, 3.0);
  EXPECT_THAT(found(run, "evaluation-after-stop").text, HasSubstr("7 evaluations after run_stop"));
  EXPECT_EQ(found(run, "evaluation-after-stop").line, log.line("eval_error", 3));
  EXPECT_EQ(found(run, "training-after-stop").line, log.line("epoch_start", 3));
}

TEST(Oddity9, TheScoreDropsTheFastestAndTheSlowestAndIsScaled) {
  const auto set = set_of({longer(9), longer(1), longer(2), longer(3), longer(0)},
                          {{"results/box/cosmoflow/scaling.json", R"({"scaling_factor": 1.5})"}});
  EXPECT_DOUBLE_EQ(*set.facts.olympic_mean_s, kRunS + 2.0);
  EXPECT_DOUBLE_EQ(field(set.facts, "score_min"), -1.0) << "its logs break rules";
  EXPECT_EQ(set.facts.scaling_factor, 1.5);
  Log failed = clean();
  failed.erase("run_stop");
  const auto without = set_of({failed, failed, longer(1), longer(2), longer(3)});
  EXPECT_FALSE(without.facts.olympic_mean_s);
  EXPECT_THAT(rules_of(without.findings), Contains("too-many-failed"));
}

TEST(Oddity10, InstancesAreRatedFromTheFirstStartToTheLastStopWithoutPrunedOnes) {
  Log late = clean(), pruned = clean();
  for (json& one : late.records) move(one, 5001);
  for (json& one : pruned.records) move(one, 900000);
  const base::TemporaryDirectory folder;
  const std::string place = "results/box/weak/cosmoflow/";
  folder.write(place + "result_0.txt", clean().text());
  folder.write(place + "result_1.txt", late.text());
  folder.write(place + "pruned_results/result_2.txt", pruned.text());
  const analysis::Report report = analysis::make_report({folder.path().string()});
  ASSERT_EQ(report.systems.size(), 1u);
  EXPECT_DOUBLE_EQ(*report.systems[0].facts.ttta_s, kRunS + 5.001);
  EXPECT_EQ(report.systems[0].facts.successful, 2);
  EXPECT_NEAR(field(report.systems[0].facts, "models_per_min"), 2 / (38.001 / 60), 1e-12);
}

}  // namespace
