// Oddities of real logs: a synthetic log for each oddity of published results, and the figures and
// findings that the analysis must derive from it. Here: clocks and repetition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/oddities.h"

namespace {

using analysis::Outcome;
using analysis::RunReport;
using nlohmann::json;
using own_log::clean;
using own_log::found;
using own_log::judged;
using own_log::kRunS;
using own_log::Log;
using own_log::move;
using own_log::record;
using own_log::rules_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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

TEST(Oddity11, TimesInAnotherUnitAreToldAndFiguresSayWhatTheyRestOn) {
  for (const auto& [factor, unit] :
       {std::pair{1e-3, "seconds (s)"}, std::pair{1e3, "microseconds (us)"},
        std::pair{1e6, "nanoseconds (ns)"}}) {
    Log log = clean();
    for (json& one : log.records) one["time_ms"] = one["time_ms"].get<double>() * factor;
    const RunReport run = judged(log);
    EXPECT_NEAR(*run.facts.ttt_s, kRunS * factor, 1e-3 * factor);
    EXPECT_FALSE(run.facts.mixed_clocks);
    EXPECT_THAT(found(run, "time-unit").text,
                testing::AllOf(HasSubstr("expected milliseconds since 1970"), HasSubstr(unit)));
    EXPECT_EQ(found(run, "time-unit").line, 1);
    EXPECT_THAT(run.facts.progress.note, HasSubstr(unit));
  }
}

TEST(Oddity11, TimesOfAClockThatStartsWithTheProgramAreTold) {
  Log log = clean();
  for (json& one : log.records) move(one, -own_log::kStartMs + 1.0);
  const RunReport run = judged(log);
  EXPECT_DOUBLE_EQ(*run.facts.ttt_s, kRunS);
  EXPECT_THAT(found(run, "time-unit").text, HasSubstr("in an unknown unit"));
}

TEST(Oddity11, OneRecordInMicrosecondsIsASecondClock) {
  Log log = clean();
  log["run_stop"]["time_ms"] = 1.7e15;
  const RunReport run = judged(log);
  EXPECT_TRUE(run.facts.mixed_clocks);
  EXPECT_EQ(found(run, "two-clocks").line, log.line("run_stop"));
  EXPECT_THAT(rules_of(run.findings), Not(Contains("time-unit")));
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
  log["run_start"]["time_ms"] = "1700000001000.25";  // and may be strings
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

}  // namespace
