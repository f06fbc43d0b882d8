// Oddities of real logs: a synthetic log for each oddity of published results, and the figures and
// findings that the analysis must derive from it. Here: intervals, lines and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/find_logs.h"
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
using own_log::set_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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

TEST(Oddity30, RecordsOfPythonDictsAreMalformed) {
  const std::string line =
      ":::MLLOG {\"time_ms\": 1, \"key\": \"seed\", \"value\": 1, \"metadata\": {'file': 'a'}}\n";
  const RunReport dicts = judged(line + line + line);
  EXPECT_EQ(dicts.facts.malformed_records, 3);
  EXPECT_EQ(dicts.facts.outcome, Outcome::kNoRecords);
  EXPECT_THAT(rules_of(dicts.findings), ElementsAre("malformed-record", "malformed-record",
                                                    "malformed-record", "no-records"));
  EXPECT_EQ(dicts.findings[1].line, 2);
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
  EXPECT_EQ(run.facts.metric, "eval_error");
  EXPECT_DOUBLE_EQ(*run.facts.best_quality, 0.03);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("second-metric"));
}

TEST(Oddity32, EvaluationsOfBenchmarksThatAreNotKnownMayBeAnything) {
  Log log = clean();
  log["submission_benchmark"]["value"] = "brand_new";
  log.each("eval_error", [](json& one) {
    one["key"] = "eval_accuracy";
    one["value"] = {{"BBOX", 0.1}, {"SEGM", 0.2}};
  });
  const RunReport run = judged(log);
  EXPECT_EQ(run.facts.outcome, Outcome::kTargetUnknown);
  EXPECT_THAT(rules_of(run.findings), ElementsAre("target-unknown"));
}

TEST(Oddity33, NamesOfAllKindsAreFoundAndOtherFilesAreNot) {
  const base::TemporaryDirectory folder;
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
