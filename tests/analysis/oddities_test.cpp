// What real logs contain, one test each: a log of our own for every oddity of published results,
// and what the analysis must compute from it and say of it.
// Hides nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/fields.h"
#include "analysis/find_logs.h"
#include "own_log.h"

namespace {

using analysis::Outcome;
using analysis::RunFacts;
using analysis::RunReport;
using nlohmann::json;
using own_log::clean;
using own_log::found;
using own_log::judged;
using own_log::Log;
using own_log::record;
using own_log::rules_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kRunS = 33.0;  ///< of a clean log with one epoch for each evaluation

void move(json& one, double ms) {
  one["time_ms"] = one["time_ms"].get<std::int64_t>() + static_cast<std::int64_t>(ms);
}

/// The set that these logs make in a submission; `side` are further files.
analysis::SystemReport set_of(const std::vector<Log>& logs,
                              const std::map<std::string, std::string>& side = {},
                              const std::string& place = "results/box/cosmoflow/") {
  const golden::TemporaryFolder folder;
  int number = 0;
  for (const Log& log : logs) {
    folder.write(place + "result_" + std::to_string(number++) + ".txt", log.text());
  }
  for (const auto& [name, content] : side) folder.write(name, content);
  return analysis::make_report({folder.path().string()}).systems.at(0);
}

/// A clean log whose run takes `more_s` longer.
Log longer(double more_s) {
  Log log = clean();
  move(log["run_stop"], 1000.0 * more_s);
  return log;
}

double field(const analysis::SystemFacts& facts, const std::string& name) {
  for (const auto& one : analysis::system_fields()) {
    if (one.name == name) return analysis::number(one.get(facts)).value_or(-1.0);
  }
  return -2.0;
}

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
  EXPECT_THAT(rules_of(run.findings), ElementsAre("run-stop-missing"));
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
  EXPECT_THAT(found(run, "evaluation-after-stop").text, HasSubstr("7 evaluations behind run_stop"));
  EXPECT_EQ(found(run, "evaluation-after-stop").line, log.line("eval_error", 3));
  EXPECT_EQ(found(run, "training-after-stop").line, log.line("epoch_start", 3));
}

TEST(Oddity9, TheScoreDropsTheFastestAndTheSlowestAndIsScaled) {
  const auto set = set_of({longer(9), longer(1), longer(2), longer(3), longer(0)},
                          {{"results/box/cosmoflow/scaling.json", R"({"scaling_factor": 1.5})"}});
  EXPECT_DOUBLE_EQ(*set.facts.olympic_mean_s, kRunS + 2.0);
  EXPECT_DOUBLE_EQ(field(set.facts, "score_min"), (kRunS + 2.0) / 60.0 * 1.5);
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
  const golden::TemporaryFolder folder;
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

// B. Clocks.

TEST(Oddity11, TwoClocksInOneLogAreToldAndTheRunUsesItsOwn) {
  Log log = clean();
  for (json& one : log.records) {
    const std::string key = one["key"];
    if (!key.starts_with("submission_")) {
      one["time_ms"] = one["time_ms"].get<std::int64_t>() - static_cast<std::int64_t>(1.699e12);
      one["time_ms"] = one["time_ms"].get<std::int64_t>() % 10000000000;
    }
  }
  const RunReport run = judged(log);
  EXPECT_TRUE(run.facts.mixed_clocks);
  EXPECT_DOUBLE_EQ(*run.facts.ttt_s, kRunS);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("two-clocks"));
  EXPECT_EQ(found(run, "two-clocks").line, log.line("cache_clear"));
}

TEST(Oddity11, TimesOfZeroAtTheEndAreNoSecondClock) {
  Log log = clean();
  for (const char* key : {"submission_org", "submission_platform"}) {
    json moved = log[key];
    moved["time_ms"] = 0;
    log.erase(key);
    log.records.push_back(moved);
  }
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.ttt_s, kRunS);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("time-zero"));
  EXPECT_THAT(found(run, "time-zero").text, HasSubstr("in 2 records"));
}

TEST(Oddity12, AnInitialisationStampedDaysLaterIsTold) {
  Log log = clean();
  for (json& one : log.records) {
    if (one["key"] == "run_start") break;
    move(one, 344111000);
  }
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.ttt_s, kRunS);
  EXPECT_DOUBLE_EQ(*run.facts.init_s, 0.898);
  EXPECT_EQ(found(run, "init-times-impossible").line, log.line("init_stop"));
  EXPECT_EQ(found(run, "time-goes-back").line, log.line("run_start"));
}

TEST(Oddity13, AMillisecondBackIsHarmlessAndSecondsBackAreTold) {
  Log log = clean();
  move(log["seed"], 2);
  EXPECT_EQ(judged(log).facts.time_reversals, 1);
  EXPECT_THAT(judged(log).findings, IsEmpty());
  move(log["seed"], 15190);
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(run.facts.max_reversal_ms, 15192);
  EXPECT_EQ(found(run, "time-goes-back").line, log.line("global_batch_size"));
}

TEST(Oddity14, AnEvaluationThatPrecedesTheStopInFileOrTimeCounts) {
  Log later = clean();
  move(later.at("eval_error", 2), 1);
  Log behind = clean();
  const json last = behind.at("eval_error", 2);
  behind.records.erase(behind.find("eval_error", 2));
  behind.records.push_back(last);
  for (Log* log : {&later, &behind}) {
    const RunReport run = judged(*log);
    EXPECT_EQ(run.facts.outcome, Outcome::kSuccess);
    const auto finding = found(run, "evaluation-at-stop");
    EXPECT_EQ(finding.line, log->line("eval_error", 2));
    EXPECT_THAT(finding.text, HasSubstr("the run converged by one of them"));
    EXPECT_THAT(rules_of(run.findings), Not(Contains("evaluation-after-stop")));
  }
}

TEST(Oddity15, TimesMayHaveMicroseconds) {
  Log log = clean();
  log["run_stop"]["time_ms"] = 1700000034000.5;
  log["run_start"]["time_ms"] = "1700000001000.25";  // and may be texts
  const RunReport run = judged(log);
  EXPECT_NEAR(*run.facts.ttt_s, kRunS + 0.00025, 1e-9);
  EXPECT_THAT(run.findings, IsEmpty());
}

TEST(Oddity16, EventTypesAreNeverTrusted) {
  Log log = clean();
  log["staging_stop"]["event_type"] = "INTERVAL_START";
  log.each("epoch_stop", [](json& one) { one["event_type"] = "POINT_IN_TIME"; });
  log["cache_clear"]["event_type"] = "null";
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.parts.staging_s, 3.0);
  EXPECT_DOUBLE_EQ(*run.facts.parts.epoch_s, 30.0);
  EXPECT_THAT(rules_of(run.findings),
              ElementsAre("event-type-wrong", "event-type-wrong", "event-type-missing"));
  EXPECT_THAT(found(run, "event-type-wrong").text,
              HasSubstr("epoch_stop has event_type POINT_IN_TIME in 3 records"));
}

// C. Repetition.

TEST(Oddity17, RecordsOfEveryRankAreToldOnceAndCountedOnce) {
  Log log = clean();
  for (int rank = 1; rank < 2048; ++rank) log.insert_after("init_start", record(2, "init_start"));
  std::vector<json> copies;
  for (const json& one : log.records) {
    const std::string key = one["key"];
    const bool is_copied = key.starts_with("epoch_") || key.starts_with("eval_e") ||
                           key == "eval_start" || key == "eval_stop";
    for (int node = 0; node < (is_copied ? 8 : 1); ++node) copies.push_back(one);
  }
  log.records = copies;
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.repeated_keys.at("init_start"), 2048);
  EXPECT_EQ(run.facts.evaluations.size(), 3u);
  EXPECT_DOUBLE_EQ(*run.facts.parts.eval_s, 3.0);
  EXPECT_DOUBLE_EQ(*run.facts.parts.epoch_s, 30.0);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("repeated-keys"));
  EXPECT_THAT(found(run, "repeated-keys").text, HasSubstr("init_start 2048 times"));
}

TEST(Oddity18, SettingsRepeatedByEveryRankInTheMiddleOfTrainingAreNoConflict) {
  Log log = clean();
  log.insert_after("seed", record(3, "opt_learning_rate_decay_factor", 0.25));
  for (int rank = 0; rank < 128; ++rank) {
    log.insert_before("run_stop", record(20000, "opt_learning_rate_decay_factor", 0.250));
    log.insert_before("run_stop", record(20000, "duplicate_opt_name", "lars"));
  }
  const RunReport run = judged(log);
  EXPECT_TRUE(run.facts.conflicting_keys.empty());
  EXPECT_THAT(rules_of(run.findings), ElementsAre("time-goes-back", "repeated-keys"));
  EXPECT_THAT(found(run, "repeated-keys").text,
              HasSubstr("opt_learning_rate_decay_factor 129 times"));
  log.insert_before("run_stop", record(34000, "opt_learning_rate_decay_factor", 0.5));
  EXPECT_THAT(found(judged(log), "conflicting-values").text, HasSubstr("is 0.25 first and 0.5"));
}

// D. Epoch numbering.

TEST(Oddity19, EpochsFromZeroAreCountedRight) {
  Log log = clean();
  for (json& one : log.records) {
    if (!one["metadata"].contains("epoch_num")) continue;
    one["metadata"]["epoch_num"] = one["metadata"]["epoch_num"].get<int>() - 1;
  }
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.progress.epochs_to_target, 3.0);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("epochs-from-zero"));
}

/// A resnet log with blocks of four epochs only, evaluations labelled as `label` says.
Log block_log(const std::function<json(int)>& label, int first_block = 0) {
  Log log = clean("resnet");
  log.records.erase(log.find("epoch_start"), log.records.end());
  for (int block = 0; block < 3; ++block) {
    const double ms = 4000 + 40000.0 * block;
    const json first = {{"first_epoch_num", first_block + 4 * block}, {"epoch_count", 4}};
    log.add(ms, "block_start", nullptr, first).add(ms + 40000, "block_stop", nullptr, first);
    log.add(ms + 40000, "eval_accuracy", 0.4 + 0.2 * block, {{"epoch_num", label(block)}});
  }
  log.add(124000, "run_stop", nullptr, {{"status", "success"}});
  return log;
}

TEST(Oddity19, EvaluationsOfBlocksMayBeNamedAfterTheLastEpochOrTheCount) {
  for (const int last : {3, 4}) {
    const RunReport run = judged(block_log([&](int block) -> json { return 4 * block + last; }));
    EXPECT_TRUE(run.facts.blocks);
    EXPECT_DOUBLE_EQ(*run.facts.progress.epochs_to_target, 12.0);
    EXPECT_THAT(rules_of(run.findings), ElementsAre("epochs-from-zero"));
  }
}

TEST(Oddity19, AStopNamedAfterTheNextStartIsPairedInTime) {
  Log log = clean();
  log.erase("eval_start").erase("eval_stop");
  log.each("epoch_stop", [](json& one) {
    one["metadata"]["epoch_num"] = one["metadata"]["epoch_num"].get<int>() + 1;
  });
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.parts.epoch_s, 30.0);
  EXPECT_THAT(rules_of(run.findings), Contains("interval-labels-differ"));
  EXPECT_THAT(rules_of(run.findings), Not(Contains("interval-not-stopped")));
}

/// Epochs of a benchmark with other units, evaluated at these numbers.
Log fraction_log(const std::string& benchmark, double first, const std::vector<double>& numbers) {
  Log log = clean(benchmark);
  log.records.erase(log.find("epoch_start"), log.records.end());
  log.add(4000, "epoch_start", nullptr, {{"epoch_num", first}});
  double ms = 4000;
  for (const double number : numbers) {
    const double quality = number == numbers.back() ? 0.81 : 0.75;
    log.add(ms += 10000, "eval_accuracy", quality, {{"epoch_num", number}});
  }
  log.add(ms, "epoch_stop", nullptr, {{"epoch_num", first}});
  log.add(ms, "run_stop", nullptr, {{"status", "success"}});
  return log;
}

TEST(Oddity20, DlrmCountsItsEpochsFromOneAndDcnv2FromZero) {
  const RunReport dlrm = judged(fraction_log("dlrm", 1, {1.05, 1.1, 1.15}));
  EXPECT_NEAR(*dlrm.facts.progress.epochs_to_target, 0.15, 1e-12);
  EXPECT_THAT(dlrm.findings, IsEmpty());
  const RunReport dcnv2 = judged(fraction_log("dlrm_dcnv2", 0, {0.05, 0.1, 0.15}));
  EXPECT_NEAR(*dcnv2.facts.progress.epochs_to_target, 0.15, 1e-12);
  EXPECT_THAT(dcnv2.findings, IsEmpty());
}

TEST(Oddity20, EpochNumbersThatCountEvaluationsGiveNoEpochs) {
  Log log = fraction_log("dlrm", 1, {1, 2, 3});
  log.each("epoch_start", [](json& one) {
    one["key"] = "block_start";
    one["metadata"] = {{"first_epoch_num", 1}, {"epoch_count", 1}};
  });
  log.each("epoch_stop", [](json& one) {
    one["key"] = "block_stop";
    one["metadata"] = {{"first_epoch_num", 1}};
  });
  const RunReport run = judged(log);
  EXPECT_FALSE(run.facts.progress.epochs_to_target);
  EXPECT_THAT(run.facts.progress.note, HasSubstr("counts evaluations"));
  EXPECT_THAT(run.findings, IsEmpty());
}

TEST(Oddity20, OpenFoldCountsSamples) {
  const RunReport run = judged(fraction_log("openfold", 2560, {2560, 5120, 7680}));
  EXPECT_DOUBLE_EQ(*run.facts.progress.samples_to_target, 7680.0);
  EXPECT_THAT(found(run, "evaluation-cadence").text, IsEmpty());  // 40 batches of 64
}

TEST(Oddity20, AnEvaluationWithoutAnEpochNumberIsTold) {
  Log log = clean();
  log.each("eval_start", [](json& one) { one["metadata"].erase("epoch_num"); });
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.parts.eval_s, 3.0);
  EXPECT_THAT(found(run, "epoch-number-missing").text, HasSubstr("eval_start has no metadata"));
  EXPECT_EQ(found(run, "epoch-number-missing").line, log.line("eval_start"));
}

TEST(Oddity20, DeepcamOfV07IsEvaluatedBySteps) {
  Log log = clean("deepcam");
  for (int i = 0; i < 3; ++i) {
    log.at("eval_accuracy", i)["metadata"]["epoch_num"] = 2 * i + 1;
    log.at("eval_accuracy", i)["metadata"]["step_num"] = 100 * (i + 1);
  }
  EXPECT_THAT(rules_of(judged(log).findings), Not(Contains("evaluation-cadence")));
}

TEST(Oddity20, DeepcamOfV07MayBeEvaluatedTwiceInAnEpoch) {
  Log log = clean("deepcam");
  for (int i = 0; i < 3; ++i) {
    log.at("eval_accuracy", i)["metadata"]["epoch_num"] = 1;
    log.at("eval_accuracy", i)["metadata"]["step_num"] = 100 * (i + 1);
  }
  EXPECT_THAT(rules_of(judged(log).findings), Not(Contains("epoch-number-stuck")));
}

TEST(Oddity21, ALogMayHaveOnlyBlocksOrBothOrNoEvaluationRecords) {
  Log both = clean("resnet");
  const json block = {{"first_epoch_num", 1}, {"epoch_count", 12}};
  both.insert_before("epoch_start", record(4000, "block_start", nullptr, block));
  both.insert_before("run_stop", record(124000, "block_stop", nullptr, block));
  const RunReport nested = judged(both);
  EXPECT_FALSE(nested.facts.blocks);
  EXPECT_DOUBLE_EQ(*nested.facts.progress.epochs_run, 12.0);
  EXPECT_THAT(nested.findings, IsEmpty());
  const RunReport blocks = judged(block_log([](int i) -> json { return 4 * i + 4; }, 1));
  EXPECT_FALSE(blocks.facts.parts.eval_s);
  EXPECT_EQ(blocks.facts.evaluations.size(), 3u);
  EXPECT_THAT(blocks.findings, IsEmpty());
}

TEST(Oddity22, SampleCountsOfOtherDatasetsAreToldAndUsed) {
  Log log = clean("resnet");
  log["train_samples"]["value"] = 1277952;
  log["eval_samples"]["value"] = 65536;
  const RunReport run = judged(log);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("sample-count-unusual", "sample-count-unusual"));
  EXPECT_DOUBLE_EQ(*run.facts.progress.samples_to_target, 12.0 * 1277952);
  Log older = clean();
  older["train_samples"]["value"] = 262144;  // CosmoFlow of v0.7
  EXPECT_THAT(judged(older).findings, IsEmpty());
}

TEST(Oddity22, SamplesLoggedAtTheEndOfDlrmAreThoseConsumed) {
  Log log = fraction_log("dlrm", 1, {1.05, 1.1, 1.15});
  log.erase("train_samples");
  log.insert_before("run_stop", record(34000, "train_samples", 3772348416));
  EXPECT_DOUBLE_EQ(*judged(log).facts.progress.samples_to_target, 3772348416.0);
}

// E. Intervals.

TEST(Oddity23, EvaluationsBesideTheTrainingAreNotSummed) {
  Log log = clean();
  log.each("eval_start", [](json& one) { move(one, 3000); });
  log.each("eval_stop", [](json& one) { move(one, 12000); });
  log.each("eval_error", [](json& one) { move(one, 12000); });
  move(log["run_stop"], 12000);
  std::stable_sort(log.records.begin(), log.records.end(),
                   [](const json& a, const json& b) { return a["time_ms"] < b["time_ms"]; });
  const RunReport run = judged(log);
  EXPECT_TRUE(run.facts.parts.async_eval);
  EXPECT_FALSE(run.facts.parts.train_s);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("evaluation-beside-training"));
}

TEST(Oddity23, EvaluationsBehindTheWholeTrainingAreNothingOdd) {
  Log log = clean();
  log.erase("eval_start").erase("eval_stop");
  std::vector<json> evaluations;
  for (int i = 0; i < 3; ++i) evaluations.push_back(log.at("eval_error", i));
  log.erase("eval_error").erase("run_stop");
  double ms = 34000;
  for (json& one : evaluations) {
    const json number = {{"epoch_num", one["metadata"]["epoch_num"]}};
    log.add(ms, "eval_start", nullptr, number);
    one["time_ms"] = static_cast<std::int64_t>(own_log::kStartMs + (ms += 1000));
    log.records.push_back(one);
    log.add(ms, "eval_stop", nullptr, number);
  }
  log.add(ms, "run_stop", nullptr, {{"status", "success"}});
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.parts.train_s, 30.0);
  EXPECT_DOUBLE_EQ(*run.facts.parts.eval_s, 3.0);
  EXPECT_THAT(run.findings, IsEmpty());
}

TEST(Oddity24, ValuesMayFollowTheirEvaluationAndClosingRecordsTheRun) {
  Log log = clean();
  for (int i = 0; i < 3; ++i) std::swap(log.at("eval_error", i), log.at("eval_stop", i));
  std::swap(log["run_stop"], log.at("epoch_stop", 2));
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.parts.epoch_s, 30.0);
  EXPECT_EQ(run.facts.evaluations.size(), 3u);
  EXPECT_EQ(run.facts.records_after_run_stop, 1);
  EXPECT_THAT(run.findings, IsEmpty());
}

TEST(Oddity25, StagingIsAccountedInsideAndOutsideTheRun) {
  Log before = clean();
  json start = before["staging_start"], stop = before["staging_stop"];
  before.erase("staging_start").erase("staging_stop");
  move(start, -5000);
  move(stop, -5000);
  before.insert_after("cache_clear", stop).insert_after("cache_clear", start);
  const RunReport run = judged(before);
  EXPECT_DOUBLE_EQ(*run.facts.parts.staging_s, 3.0);
  EXPECT_DOUBLE_EQ(*run.facts.parts.staging_in_run_s, 0.0);
  EXPECT_DOUBLE_EQ(*run.facts.ttt_including_staging_s(), kRunS + 3.0);
  EXPECT_THAT(rules_of(run.findings), Contains("staging-outside-run"));
}

TEST(Oddity25, AnEmptyStagingIsToldAndKeysThatOnlyLookLikeItAreNot) {
  Log log = clean();
  move(log["staging_stop"], -2992);
  log.insert_after("seed", record(3, "stage_mode", "pfs"));
  log.insert_after("seed", record(3, "synchronous_staging", true));
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.parts.staging_s, 0.008);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("staging-empty"));
  log.erase("staging_start").erase("staging_stop");
  EXPECT_FALSE(judged(log).facts.parts.staging_s);
  EXPECT_THAT(judged(log).findings, IsEmpty());
}

TEST(Oddity26, InitialisationMayTakeHalfAnHourButNotMore) {
  Log log = clean();
  for (json& one : log.records) {
    if (one["key"] == "init_stop") break;
    move(one, -1799000);
  }
  EXPECT_THAT(judged(log).findings, IsEmpty());
  for (json& one : log.records) {
    if (one["key"] == "init_stop") break;
    move(one, -2000);
  }
  EXPECT_THAT(found(judged(log), "init-too-long").text,
              HasSubstr("took 30 min 2 s, expected at most 30 min"));
  log["submission_division"]["value"] = "open";
  log["submission_benchmark"]["value"] = "resnet";
  EXPECT_THAT(rules_of(judged(log).findings), Not(Contains("init-too-long")));
}

// F. Lines and files.

TEST(Oddity27, WhatStandsBeforeTheTokenIsNotRead) {
  for (const char* prefix : {"[0] ", "  0: ", "I0518 21:33:07.3 427370 mllog.py:168] ", "[",
                             "2022-10-01 Node[3] start with \x1b[[A", "xz"}) {
    const RunReport run = judged(clean().text(prefix));
    EXPECT_EQ(run.facts.outcome, Outcome::kSuccess) << prefix;
    EXPECT_THAT(run.findings, IsEmpty()) << prefix;
  }
  Log log = clean();
  log.erase("seed");
  log["run_stop"]["metadata"].erase("status");
  EXPECT_EQ(found(judged(log.text("[0] ")), "run-stop-without-status").column, 5);
}

TEST(Oddity28, NoiseBetweenRecordsAndMixedLineEndsChangeNothing) {
  std::string text = "+ srun --mpi=pmix\r\n";
  bool crlf = false;
  for (const json& one : clean().records) {
    text += "NCCL INFO \xe9\xff ring\r:::MLLOG " + one.dump() + ((crlf = !crlf) ? "\r\n" : "\n");
  }
  text.pop_back();
  const RunReport run = judged(text);
  EXPECT_EQ(run.facts.outcome, Outcome::kSuccess);
  EXPECT_EQ(run.facts.other_lines, 1 + static_cast<std::int64_t>(clean().records.size()));
  EXPECT_THAT(run.findings, IsEmpty());
}

TEST(Oddity29, NaNIsAValueAndIsTold) {
  std::string text = clean().text();
  const std::string loss =
      ":::MLLOG {\"time_ms\": 1700000034000, \"event_type\": \"POINT_IN_TIME\", \"key\": "
      "\"eval_loss\", \"value\": NaN, \"metadata\": {}}\n";
  text += loss + loss;
  const RunReport run = judged(text);
  EXPECT_EQ(run.facts.malformed_records, 0);
  const auto finding = found(run, "value-not-finite");
  EXPECT_EQ(finding.text, "eval_loss is not finite in 2 records, first here");
  EXPECT_EQ(finding.line, static_cast<std::int64_t>(clean().records.size()) + 1);
}

TEST(Oddity30, RecordsOfPythonDictsAreMalformedAndOldFormatsAreNamed) {
  const std::string line =
      ":::MLLOG {\"time_ms\": 1, \"key\": \"seed\", \"value\": 1, \"metadata\": {'file': 'a'}}\n";
  const RunReport dicts = judged(line + line + line);
  EXPECT_EQ(dicts.facts.malformed_records, 3);
  EXPECT_EQ(dicts.facts.outcome, Outcome::kNoRecords);
  EXPECT_THAT(rules_of(dicts.findings), ElementsAre("malformed-record", "malformed-record",
                                                    "malformed-record", "no-records"));
  EXPECT_EQ(dicts.findings[1].line, 2);
  const RunReport old = judged(
      ":::MLL 1558640006.188 run_start: {\"value\": null}\n"
      ":::MLPv0.5.0 resnet 1541640503.1 (a.py:1) run_start\n");
  EXPECT_THAT(rules_of(old.findings), ElementsAre("old-log-format"));
  EXPECT_THAT(old.findings[0].text, HasSubstr("2 lines of the formats before v0.7"));
}

TEST(Oddity31, NamespacesListsAndPlaceholdersAreTakenAsTheyAre) {
  Log log = clean();
  const std::vector<json> namespaces = {0, 22, "worker0", "main", "mindspore"};
  for (std::size_t i = 0; i < log.records.size(); ++i) {
    log.records[i]["namespace"] = namespaces[i % namespaces.size()];
  }
  log.insert_after("seed", record(3, "opt_learning_rate_decay_factor", {0.5, 0.25}));
  log.insert_after("seed", record(3, "opt_name", "SGDWD"));
  EXPECT_THAT(judged(log).findings, IsEmpty());
  log["submission_platform"]["value"] = "128xSUBMISSION_PLATFORM_PLACEHOLDER";
  log["submission_org"]["value"] = "reference_implementation";
  log.add(34000, "power_reading", 3.5);
  log["power_reading"]["metadata"] = "";
  const RunReport run = judged(log);
  EXPECT_THAT(rules_of(run.findings),
              ElementsAre("metadata-not-an-object", "placeholder", "placeholder"));
}

TEST(Oddity31, WhoRanItIsTakenFromTheSystemsDescription) {
  const auto set =
      set_of({clean(), clean(), clean()},
             {{"systems/box.json", R"({"submitter": "Centre", "division": "closed"})"}});
  EXPECT_THAT(rules_of(set.findings), Contains("system-submitter-differs"));
  EXPECT_THAT(rules_of(set.findings), Not(Contains("system-division-differs")));
}

TEST(Oddity32, TheMetricIsTheBenchmarksOwn) {
  Log log = clean();
  for (int i = 2; i >= 0; --i) {
    json other = log.at("eval_error", i);
    other["key"] = "eval_accuracy";
    other["value"] = -other["value"].get<double>();
    log.records.insert(log.find("eval_error", i), other);
  }
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.target.metric, "eval_error");
  EXPECT_DOUBLE_EQ(*run.facts.best_quality, 0.03);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("second-metric"));
}

TEST(Oddity32, EvaluationsOfBenchmarksThatAreNotKnownMayBeAnything) {
  Log log = clean();
  log["submission_benchmark"]["value"] = "maskrcnn";
  log.each("eval_error", [](json& one) {
    one["key"] = "eval_accuracy";
    one["value"] = {{"BBOX", 0.1}, {"SEGM", 0.2}};
  });
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.outcome, Outcome::kTargetUnknown);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("target-unknown"));
}

TEST(Oddity33, NamesOfAllKindsAreFoundAndOtherFilesAreNot) {
  const golden::TemporaryFolder folder;
  for (const char* name :
       {"result_1_1n4r_32k_1592751389.txt", "result_01.txt", "result_0.txt", "result_637.txt",
        "Fujitsu+RIKEN a/result_1.txt", "compliance_1.out", "rcp_checker.log", "logs/a.log"}) {
    folder.write(name, "");
  }
  std::vector<std::string> names;
  for (const auto& log : analysis::find_logs({folder.path().string()}).logs) {
    names.push_back(log.name);
  }
  EXPECT_THAT(names, ElementsAre("Fujitsu+RIKEN a/result_1.txt", "result_0.txt", "result_01.txt",
                                 "result_1_1n4r_32k_1592751389.txt", "result_637.txt"));
}

TEST(Oddity34, ReportedThroughputIsShownBesideTheComputedOne) {
  Log log = clean();
  log.insert_before("run_stop", record(33000, "tracked_stats", {{"throughput", 740.0}}));
  move(*(log.find("run_stop") - 1), 1000);
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.reported_throughput_mean, 740.0);
  EXPECT_DOUBLE_EQ(*run.facts.train_throughput, 3 * 524288 / 27.0);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("throughput-unit-differs"));
}

TEST(Oddity35, DescriptionsHaveNumbersAsTextAndDivisionsInAnyCase) {
  const auto set =
      set_of({clean(), clean(), clean()}, {{"systems/box.json", R"({"division": "Closed",
      "number_of_nodes": "1", "accelerators_per_node": "N/A", "host_processors_per_node": "2"})"}});
  EXPECT_DOUBLE_EQ(*set.facts.compute_units, 2.0);
  EXPECT_THAT(rules_of(set.findings), Not(Contains(HasSubstr("system-"))));
}

}  // namespace
