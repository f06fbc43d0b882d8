// Facts of single logs: outcomes, times, epochs.
#include "analysis/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/audit/audit.h"
#include "analysis/breakdown.h"
#include "analysis/facts_of_log.h"
#include "analysis/golden.h"
#include "analysis/log_file.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::Outcome;
using analysis::RunFacts;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

/// One line of a log.
std::string record_line(double time_ms, const std::string& key, const nlohmann::json& value,
                        const nlohmann::json& metadata = nlohmann::json::object()) {
  return ":::MLLOG " +
         nlohmann::json{
             {"time_ms", time_ms}, {"key", key}, {"value", value}, {"metadata", metadata}}
             .dump() +
         "\n";
}

RunFacts facts_of_text(const std::string& text) {
  const base::TemporaryDirectory folder;
  return facts_of(analysis::parse_log(folder.write("result_0.txt", text)));
}

std::vector<analysis::Finding> findings_of_text(const std::string& text) {
  const base::TemporaryDirectory folder;
  const analysis::ParsedLog log = analysis::parse_log(folder.write("result_0.txt", text));
  return audit(log, facts_of(log));
}

std::string resnet_start() {
  return record_line(2e12, "submission_benchmark", "resnet") +
         record_line(2e12, "train_samples", 100) + record_line(2e12, "eval_samples", 10) +
         record_line(2e12, "run_start", nullptr);
}

TEST(Facts, OfASuccessfulRunAreThoseOfItsLog) {
  const RunFacts facts = golden::run("success").facts;
  EXPECT_EQ(facts.outcome, Outcome::kSuccess);
  EXPECT_DOUBLE_EQ(*facts.ttt_s, 44.032);
  EXPECT_DOUBLE_EQ(*facts.init_s, 1.5);
  EXPECT_DOUBLE_EQ(*facts.parts.staging_in_run_s, 2.0);
  EXPECT_DOUBLE_EQ(*facts.ttt_excluding_staging_s(), 42.032);
  EXPECT_DOUBLE_EQ(*facts.parts.train_s, 40.010);
  EXPECT_DOUBLE_EQ(*facts.parts.eval_s, 2.0);
  EXPECT_NEAR(*facts.parts.other_s, 0.022, 1e-9);
  EXPECT_EQ(facts.evaluations.size(), 4u);
  EXPECT_EQ(facts.at_target, 3u);
  EXPECT_DOUBLE_EQ(*facts.progress.epochs_to_target, 4.0);
  EXPECT_DOUBLE_EQ(*facts.train_throughput, 4 * 2400 / 40.010);
  EXPECT_DOUBLE_EQ(*facts.run_throughput, 4 * 2400 / 44.032);
  EXPECT_DOUBLE_EQ(*facts.eval_throughput, 4 * 400 / 2.0);
  EXPECT_DOUBLE_EQ(*facts.reported_throughput_mean, 240.0);
}

TEST(Facts, TakeTheTargetFromTheLogBeforeTheTable) {
  const RunFacts facts = golden::run("success").facts;
  EXPECT_TRUE(facts.target_from_log);
  EXPECT_DOUBLE_EQ(*facts.target_value(), 0.8);  // the MLPerf target of resnet is 0.759
}

TEST(Facts, CallARunBelowItsTargetMissedWhateverItsStatusSays) {
  const auto run = golden::run("missed");
  EXPECT_EQ(run.facts.outcome, Outcome::kTargetMissed);
  EXPECT_THAT(run.findings,
              Contains(Field(&analysis::Finding::text, HasSubstr("no eval_accuracy meets"))));
}

TEST(Facts, OfAnAbortedRunHaveATimeButNoSuccess) {
  const RunFacts facts = golden::run("aborted").facts;
  EXPECT_EQ(facts.outcome, Outcome::kAborted);
  EXPECT_DOUBLE_EQ(*facts.ttt_s, 33.525);
}

TEST(Facts, OfARunThatWasCutOffEndWithItsLog) {
  const RunFacts facts = golden::run("cut_off").facts;
  EXPECT_EQ(facts.outcome, Outcome::kIncomplete);
  EXPECT_FALSE(facts.ttt_s);
  EXPECT_FALSE(facts.run_throughput);
  EXPECT_DOUBLE_EQ(*facts.progress.epochs_run, 3.0);
  EXPECT_DOUBLE_EQ(*facts.window_s, 33.525);
}

TEST(Facts, WithoutAKnownTargetClaimNoSuccess) {
  const RunFacts facts = golden::run("no_target").facts;
  EXPECT_EQ(facts.outcome, Outcome::kTargetUnknown);
  EXPECT_FALSE(facts.progress.epochs_run);
  EXPECT_NE(facts.progress.note, "");
}

TEST(Facts, OfALogInUtf16NameTheEncoding) {
  std::string utf16 = "\xff\xfe";
  for (const char c : record_line(2e12, "seed", 1)) utf16 += {c, '\0'};
  const base::TemporaryDirectory folder;
  const analysis::ParsedLog log = analysis::parse_log(folder.write("result_0.txt", utf16));
  ASSERT_EQ(log.findings.size(), 1u);
  EXPECT_EQ(log.findings[0].rule, "no-records");
  EXPECT_THAT(log.findings[0].text, testing::HasSubstr("found UTF-16; convert it"));
}

TEST(Facts, OfACompressedLogNameItsFormat) {
  const base::TemporaryDirectory folder;
  const analysis::ParsedLog log =
      analysis::parse_log(folder.write("result_0.txt", "\x1f\x8b\x08\x08\x01"));
  ASSERT_EQ(log.findings.size(), 1u);
  EXPECT_EQ(log.findings[0].text, "expected lines with ':::MLLOG ', found a gzip file");
}

TEST(Facts, OfAnEmptyLogAreNone) {
  for (const char* name : {"empty", "binary"}) {
    const auto run = golden::run(name);
    EXPECT_EQ(run.facts.outcome, Outcome::kNoRecords) << name;
    EXPECT_FALSE(run.log_parts) << name;
    EXPECT_FALSE(run.findings.empty()) << name;
  }
}

TEST(Facts, AreNotDisturbedByMalformedLines) {
  const auto run = golden::run("malformed");
  EXPECT_EQ(run.facts.malformed_records, 4);
  EXPECT_EQ(run.facts.other_lines, 1);
  EXPECT_EQ(run.facts.outcome, Outcome::kSuccess);
  ASSERT_EQ(run.findings.size(), 4u);
  EXPECT_EQ(run.findings[1].line, 12);
  EXPECT_EQ(run.findings[1].column, 9);  // after "rank 0: "
}

TEST(Facts, TellOfLossesThatAreNotFinite) {
  const auto run = golden::run("nan_loss");
  ASSERT_EQ(run.findings.size(), 2u);
  EXPECT_EQ(run.findings[1].rule, "run-stop-aborted");
  EXPECT_EQ(run.findings[0].text, "train_loss is not finite in 2 records, first here");
  EXPECT_EQ(run.findings[0].line, 31);
}

TEST(Facts, CountAnEvaluationThatPrecedesTheStopInTheFileOrInTime) {
  const RunFacts facts = facts_of_text(
      resnet_start() + record_line(2e12 + 11, "eval_accuracy", 0.5, {{"epoch_num", 1}}) +  // later
      record_line(2e12 + 10, "run_stop", nullptr, {{"status", "success"}}) +
      record_line(2e12 + 10, "eval_accuracy", 0.8, {{"epoch_num", 2}}) +  // after it, same time
      record_line(2e12 + 12, "eval_accuracy", 0.9, {{"epoch_num", 3}}));  // after it in both
  ASSERT_EQ(facts.evaluations.size(), 2u);
  EXPECT_DOUBLE_EQ(facts.evaluations[0].quality, 0.8);
  EXPECT_EQ(facts.outcome, Outcome::kSuccess);
  EXPECT_EQ(facts.records_after_run_stop, 2);
}

TEST(Facts, CountRepeatedEvaluationsOfAllNodesOnce) {
  std::string text = resnet_start();
  for (int node = 0; node < 8; ++node) {
    text += record_line(2e12 + node, "eval_start", nullptr, {{"epoch_num", 1}});
  }
  for (int node = 0; node < 8; ++node) {
    text += record_line(2e12 + 100 + node, "eval_stop", nullptr, {{"epoch_num", 1}});
    text += record_line(2e12 + 100 + node, "eval_accuracy", 0.8, {{"epoch_num", 1}});
  }
  const RunFacts facts =
      facts_of_text(text + record_line(2e12 + 200, "run_stop", nullptr, {{"status", "success"}}));
  EXPECT_EQ(facts.evaluations.size(), 1u);
  EXPECT_DOUBLE_EQ(*facts.parts.eval_s, 0.107);
}

TEST(Facts, TellEvaluationsBesideTheTrainingFromThoseInIt) {
  std::string text = resnet_start();
  for (int epoch = 1; epoch <= 3; ++epoch) {
    const double start = 2e12 + epoch * 1000;
    text += record_line(start, "epoch_start", nullptr, {{"epoch_num", epoch}});
    text += record_line(start + 1000, "epoch_stop", nullptr, {{"epoch_num", epoch}});
    text += record_line(start + 1000, "eval_start", nullptr, {{"epoch_num", epoch}});
    text += record_line(start + 1500, "eval_stop", nullptr, {{"epoch_num", epoch}});
  }
  const RunFacts facts =
      facts_of_text(text + record_line(2e12 + 5000, "run_stop", nullptr, {{"status", "success"}}));
  EXPECT_TRUE(facts.parts.async_eval);
  EXPECT_FALSE(facts.parts.train_s);
  EXPECT_FALSE(facts.train_throughput);
}

TEST(Facts, DoNotCountAnEpochThatStartsWhenTheRunEnds) {
  const RunFacts facts =
      facts_of_text(resnet_start() + record_line(2e12, "epoch_start", nullptr, {{"epoch_num", 0}}) +
                    record_line(2e12 + 9, "epoch_stop", nullptr, {{"epoch_num", 0}}) +
                    record_line(2e12 + 9, "eval_accuracy", 0.8, {{"epoch_num", 0}}) +
                    record_line(2e12 + 9, "epoch_start", nullptr, {{"epoch_num", 1}}) +
                    record_line(2e12 + 9, "run_stop", nullptr, {{"status", "success"}}));
  EXPECT_DOUBLE_EQ(*facts.progress.epochs_run, 1.0);
  EXPECT_DOUBLE_EQ(*facts.progress.epochs_to_target, 1.0);
}

TEST(Facts, SumTheEpochsOfBlocksWhereALogHasOnlyThose) {
  std::string text = resnet_start();
  for (int block = 0; block < 3; ++block) {
    const double start = 2e12 + block * 100;
    text += record_line(start, "block_start", nullptr,
                        {{"first_epoch_num", 4 * block}, {"epoch_count", 4}});
    text += record_line(start + 90, "block_stop", nullptr, {{"first_epoch_num", 4 * block}});
    text += record_line(start + 95, "eval_accuracy", 0.70 + 0.04 * block, {{"epoch_num", block}});
  }
  const RunFacts facts =
      facts_of_text(text + record_line(2e12 + 300, "run_stop", nullptr, {{"status", "success"}}));
  EXPECT_TRUE(facts.blocks);
  EXPECT_DOUBLE_EQ(*facts.progress.epochs_run, 12.0);
  EXPECT_DOUBLE_EQ(*facts.progress.epochs_to_target, 12.0);
}

TEST(Facts, CountStagingOutsideTheRunApart) {
  const RunFacts facts =
      facts_of_text(record_line(2e12, "submission_benchmark", "resnet") +
                    record_line(2e12, "staging_start", nullptr) +
                    record_line(2e12 + 3000, "staging_stop", nullptr) +
                    record_line(2e12 + 3000, "run_start", nullptr) +
                    record_line(2e12 + 4000, "staging_start", nullptr) +
                    record_line(2e12 + 5000, "staging_stop", nullptr) +
                    record_line(2e12 + 13000, "run_stop", nullptr, {{"status", "success"}}));
  EXPECT_DOUBLE_EQ(*facts.parts.staging_s, 4.0);
  EXPECT_DOUBLE_EQ(*facts.parts.staging_in_run_s, 1.0);
  EXPECT_DOUBLE_EQ(*facts.ttt_excluding_staging_s(), 9.0);
  EXPECT_DOUBLE_EQ(*facts.ttt_including_staging_s(), 13.0);
}

TEST(Facts, CountStagingBesideTrainingOnce) {
  const auto at = [](double s, const char* key, const nlohmann::json& metadata = {}) {
    return record_line(2e12 + s * 1000, key, nullptr, metadata);
  };
  // 2 s alone, 4 s in the epoch, 1 s between, 1 s of the evaluation.
  const RunFacts facts = facts_of_text(
      record_line(2e12, "submission_benchmark", "resnet") + at(0, "run_start") +
      at(0, "staging_start") + at(2, "epoch_start", {{"epoch_num", 1}}) +
      at(6, "epoch_stop", {{"epoch_num", 1}}) + at(7, "eval_start", {{"epoch_num", 1}}) +
      at(8, "staging_stop") + at(9, "eval_stop", {{"epoch_num", 1}}) +
      at(10, "run_stop", {{"status", "success"}}));
  EXPECT_DOUBLE_EQ(*facts.parts.staging_in_run_s, 8.0);
  EXPECT_DOUBLE_EQ(facts.parts.staging_beside_s, 5.0);
  EXPECT_DOUBLE_EQ(facts.parts.staging_alone_s(), 3.0);
  EXPECT_DOUBLE_EQ(*facts.ttt_excluding_staging_s(), 7.0);
  EXPECT_DOUBLE_EQ(*facts.ttt_including_staging_s(), 10.0);
  EXPECT_DOUBLE_EQ(*facts.staging_percent(), 30.0);
  const auto breakdown = log_breakdown(facts);
  ASSERT_TRUE(breakdown);
  double sum = 0.0;
  for (const auto& part : breakdown->parts) sum += part.mean_s;
  EXPECT_DOUBLE_EQ(sum, 10.0);
}

TEST(Facts, KeepSeedsOf64Bits) {
  const RunFacts facts = facts_of_text(record_line(2e12, "seed", 18446744073709551615u));
  EXPECT_EQ(facts.config_text("seed"), "18446744073709551615");
}

TEST(Facts, ListDifferentValuesOfAConfigurationKey) {
  const RunFacts facts = facts_of_text(record_line(2e12, "seed", 1) + record_line(2e12, "seed", 2) +
                                       record_line(2e12, "seed", 1));
  EXPECT_EQ(facts.conflicting_keys.at("seed").size(), 2u);
  EXPECT_EQ(facts.repeated_keys.at("seed"), 3);
}

TEST(Facts, SurviveRecordsOfTheWrongKind) {
  const RunFacts facts = facts_of_text(
      record_line(2e12, "submission_benchmark", {{"a", 1}}) +
      record_line(2e12, "run_start", nullptr, 7) +
      record_line(2e12, "epoch_start", nullptr, {{"epoch_num", "one"}}) +
      record_line(2e12, "eval_accuracy", "0.9") + record_line(2e12, "quality_target", "high") +
      record_line(2e12 + 1, "run_stop", 1.5, "done"));
  EXPECT_EQ(facts.outcome, Outcome::kTargetUnknown);
  EXPECT_TRUE(facts.evaluations.empty());
}

TEST(Facts, TellWhenARunEndsBeforeItStarts) {
  const auto findings = findings_of_text(
      resnet_start() + record_line(2e12 - 5, "run_stop", nullptr, {{"status", "success"}}));
  EXPECT_THAT(findings, Contains(Field(&analysis::Finding::text,
                                       HasSubstr("run_stop is earlier than run_start"))));
}

TEST(Facts, CallAResumedRunNotSubmittable) {
  const std::string text = resnet_start() + record_line(2e12 + 1, "resumed", true) +
                           record_line(2e12 + 9, "run_stop", nullptr, {{"status", "aborted"}});
  const RunFacts facts = facts_of_text(text);
  EXPECT_EQ(facts.outcome, Outcome::kAborted);
  EXPECT_TRUE(facts.resumed);
  EXPECT_FALSE(facts.ttt_s);
  EXPECT_THAT(findings_of_text(text),
              Contains(Field(&analysis::Finding::text, HasSubstr("not submittable"))));
}

}  // namespace
