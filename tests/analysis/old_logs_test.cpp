// Logs of MLPerf Training 0.5 and 0.6: outcome, times, epochs, and the system of entry.json.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/findings/make_report.h"
#include "analysis/findings/report.h"
#include "analysis/own_log.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::Outcome;
using analysis::Report;
using analysis::RunFacts;
using own_log::found;
using own_log::judged;
using own_log::rules_of;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr double kStartS = 1541710800.0;

/// One line of 0.5, `seconds` after the start of the log.
std::string line_05(double seconds, const std::string& rest,
                    const std::string& benchmark = "resnet") {
  return fmt::format(":::MLPv0.5.0 {} {:.9f} (train.py:7) {}\n", benchmark, kStartS + seconds,
                     rest);
}

/// A run of two epochs of 10 s, the last 2 s of each an evaluation; the second one meets the
/// target.
std::string log_05(const std::string& benchmark = "resnet", double second_quality = 0.75) {
  const auto line = [&](double seconds, const std::string& rest) {
    return line_05(seconds, rest, benchmark);
  };
  return line(0, "run_clear_caches") + line(5, "run_start") + line(6, "run_set_random_seed: 17") +
         line(6, "input_batch_size: 256") + line(6, "preproc_num_train_examples: 1000") +
         line(6, "preproc_num_eval_examples: 50") + line(6, "eval_target: 0.749") +
         line(10, "train_epoch: 0") + line(18, "eval_start: 0") +
         line(20, R"(eval_accuracy: {"epoch": 0, "value": 0.5})") + line(20, "eval_stop: 0") +
         line(20, "train_epoch: 1") + line(28, "eval_start: 1") +
         line(30, fmt::format(R"(eval_accuracy: {{"epoch": 1, "value": {}}})", second_quality)) +
         line(30, "eval_stop: 1") + line(30, R"(run_stop: {"success": true})") +
         line(31, "run_final");
}

std::string line_06(double seconds, const std::string& key, const std::string& value,
                    const std::string& metadata = "") {
  return fmt::format(":::MLL {:.3f} {}: {{\"value\": {}, \"metadata\": {{{}}}}}\n",
                     seconds == 0 ? 0.0 : kStartS + seconds, key, value, metadata);
}

std::string log_06(const std::string& benchmark, const std::string& accuracy) {
  return line_06(0, "submission_org", "\"Example\"") +
         line_06(0, "submission_benchmark", '"' + benchmark + '"') +
         line_06(0, "submission_division", "\"closed\"") + line_06(1, "cache_clear", "true") +
         line_06(1, "init_start", "null") + line_06(4, "init_stop", "null") +
         line_06(5, "run_start", "null") + line_06(5, "global_batch_size", "256") +
         line_06(5, "epoch_start", "null", R"("epoch_num": 1)") +
         line_06(25, "epoch_stop", "null", R"("epoch_num": 1)") +
         line_06(25, "eval_start", "null", R"("epoch_num": 1)") +
         line_06(30, "eval_accuracy", accuracy, R"("epoch_num": 1)") +
         line_06(30, "eval_stop", "null", R"("epoch_num": 1)") +
         line_06(31, "run_stop", "null", R"("status": "success")");
}

TEST(LogsOfTraining05, HaveTheirTimesEpochsAndOutcome) {
  const auto run = judged(log_05());
  const RunFacts& facts = run.facts;
  EXPECT_EQ(facts.outcome, Outcome::kSuccess);
  EXPECT_EQ(facts.records, 17);
  EXPECT_EQ(facts.other_lines, 0);
  EXPECT_EQ(facts.config_text("submission_benchmark"), "resnet");
  EXPECT_EQ(facts.config_text("global_batch_size"), "256");
  EXPECT_EQ(facts.config_text("seed"), "17");
  EXPECT_EQ(facts.ttt_s, 25.0);
  EXPECT_EQ(facts.time_to_target_s(), 25.0);
  EXPECT_EQ(facts.evaluations.size(), 2u);
  EXPECT_EQ(facts.progress.epochs_to_target, 2.0);
  EXPECT_EQ(facts.progress.samples_to_target, 2000.0);
  EXPECT_EQ(facts.records_after_run_stop, 1);
  EXPECT_EQ(facts.max_reversal_ms, 0.0);
}

TEST(LogsOfTraining05, EndAnEpochWithTheNextOne) {
  const auto run = judged(log_05());
  EXPECT_EQ(run.facts.parts.epoch_s, 20.0);
  EXPECT_EQ(run.facts.parts.eval_s, 4.0);
  EXPECT_EQ(run.facts.parts.train_s, 16.0);
  EXPECT_FALSE(run.facts.parts.async_eval);
  EXPECT_EQ(run.facts.train_throughput, 2000.0 / 16.0);
  EXPECT_THAT(rules_of(run.findings), Not(Contains("interval-not-stopped")));
}

TEST(LogsOfTraining05, CountEpochsThatRanksStartTwiceOnce) {
  std::string log = log_05();
  const std::string start = line_05(10, "train_epoch: 0");
  log.insert(log.find(start), line_05(9.999, "train_epoch: 0"));
  EXPECT_EQ(judged(log).facts.progress.epochs_run, 2.0);
  EXPECT_NEAR(*judged(log).facts.parts.epoch_s, 20.001, 1e-5);
}

TEST(LogsOfTraining05, TellNoTimesOfEpochsThatAreNamedAtTheEnd) {
  std::string log = log_05();
  for (const auto& [seconds, rest] : {std::pair(10, "train_epoch: 0"), {20, "train_epoch: 1"}}) {
    const std::string start = line_05(seconds, rest);
    log.erase(log.find(start), start.size());
    log.insert(log.find(line_05(30, R"(run_stop: {"success": true})")), line_05(30, rest));
  }
  const RunFacts facts = judged(log).facts;
  EXPECT_EQ(facts.outcome, Outcome::kSuccess);
  EXPECT_EQ(facts.parts.train_s, std::nullopt);
  EXPECT_EQ(facts.train_throughput, std::nullopt);
}

TEST(LogsOfTraining05, FailBelowTheirTargetWhateverTheySay) {
  const auto run = judged(log_05("resnet", 0.7));
  EXPECT_EQ(run.facts.outcome, Outcome::kTargetMissed);
  EXPECT_THAT(rules_of(run.findings), Contains("success-below-target"));
  std::string aborted = log_05();
  aborted.replace(aborted.find("\"success\": true"), 15, "\"success\": false");
  EXPECT_EQ(judged(aborted).facts.outcome, Outcome::kAborted);
}

TEST(LogsOfTraining06, HaveTheirTimesEpochsAndOutcome) {
  const auto run = judged(log_06("resnet", "0.76"));
  const RunFacts& facts = run.facts;
  EXPECT_EQ(facts.outcome, Outcome::kSuccess);
  EXPECT_EQ(facts.ttt_s, 26.0);
  EXPECT_EQ(facts.init_s, 3.0);
  EXPECT_EQ(facts.parts.epoch_s, 20.0);
  EXPECT_EQ(facts.parts.eval_s, 5.0);
  EXPECT_EQ(facts.progress.epochs_to_target, 1.0);
  EXPECT_EQ(facts.run_stop_status, analysis::Value(std::string("success")));
}

TEST(LogsOfTraining06, TakeZeroForNoTime) {
  const auto run = judged(log_06("resnet", "0.76"));
  EXPECT_FALSE(run.facts.mixed_clocks);
  EXPECT_EQ(run.facts.time_reversals, 0);
  EXPECT_THAT(rules_of(run.findings), Not(Contains("time-zero")));
  EXPECT_THAT(rules_of(run.findings), Not(Contains("two-clocks")));
}

TEST(LogsOfTraining06, AreReadWhereNamesLackTheirQuotesWhichIsTold) {
  std::string log = log_06("resnet", "0.76");
  const std::string clear = line_06(1, "cache_clear", "true");
  log.replace(log.find(clear), clear.size(),
              ":::MLL 1541710801.000 cache_clear: {value: true, metadata: {file: manual}}\n");
  const auto run = judged(log);
  EXPECT_EQ(run.facts.outcome, Outcome::kSuccess);
  EXPECT_EQ(run.facts.malformed_records, 0);
  EXPECT_EQ(found(run, "loose-record").line, 4);
  EXPECT_THAT(found(run, "loose-record").text, HasSubstr("not valid JSON at column"));
}

TEST(LogsOfTraining06, AreMalformedWhereTheyAreCutOff) {
  const auto run = judged(log_06("resnet", "0.76") + ":::MLL 15608[2019-06-18] noise\n");
  EXPECT_EQ(run.facts.malformed_records, 1);
  EXPECT_THAT(found(run, "malformed-record").text, HasSubstr("must begin with seconds"));
}

/// A set of five runs in the layout of 0.5's results, with the folder's entry.json.
Report set_05(const base::TemporaryDirectory& folder, const std::string& entry,
              const std::string& submission = "v0.5.0/acme/fast_box/") {
  const std::string results = submission + "results/box/";
  for (int i = 0; i < 5; ++i) {
    folder.write(results + "resnet/result_" + std::to_string(i) + ".txt", log_05());
  }
  folder.write(results + "entry.json", entry);
  return analysis::make_report({folder.path().string()});
}

TEST(SetsOfTraining05, TakeTheirSystemFromEntryJson) {
  const base::TemporaryDirectory folder;
  const Report report = set_05(folder, R"({"division": "closed", "hardware": "DGX", "nodes": [
      {"num_nodes": 1, "cpu": "2x Fast CPU", "accelerator": "GPU 9", "num_accelerators": 8}]})");
  ASSERT_EQ(report.systems.size(), 1u);
  const analysis::SystemFacts& system = report.systems[0].facts;
  EXPECT_EQ(system.description.division, "closed");
  EXPECT_EQ(system.description.submitter, "acme");
  EXPECT_EQ(system.hardware(), "8 GPU 9, 2 Fast CPU");
  EXPECT_EQ(system.compute_units, 8.0);
  EXPECT_EQ(system.olympic_mean_s, 25.0);
  EXPECT_THAT(rules_of(report.systems[0].findings), Not(Contains("system-description-missing")));
}

TEST(SetsOfTraining05, CountProcessorsWhereThereAreNoAccelerators) {
  const base::TemporaryDirectory folder;
  const Report report =
      set_05(folder, R"({"division": "closed", "hardware": "8-nodes 2x Fast CPU", "nodes": [
      {"num_nodes": 8, "cpu": "Fast CPU", "accelerator": "NA", "num_accelerators": 0}]})");
  EXPECT_EQ(report.systems[0].facts.compute_units, 16.0);
  EXPECT_EQ(report.systems[0].facts.hardware(), "2 Fast CPU");
}

TEST(SetsOfTraining05, LeaveOpenWhoseAcceleratorsSeveralNodesCount) {
  const base::TemporaryDirectory folder;
  const Report report = set_05(folder, R"({"nodes": [
      {"num_nodes": 64, "cpu": "Fast CPU", "accelerator": "TPU", "num_accelerators": 512}]})");
  EXPECT_EQ(report.systems[0].facts.compute_units, std::nullopt);
}

TEST(SetsOfTraining05, TellOfADamagedEntryAndGoOn) {
  for (const char* const entry : {"{", "[]", R"({"nodes": 3})", R"({"nodes": [4]})"}) {
    const base::TemporaryDirectory folder;
    const Report report = set_05(folder, entry);
    EXPECT_EQ(report.systems[0].facts.olympic_mean_s, 25.0) << entry;
    EXPECT_EQ(report.systems[0].facts.compute_units, std::nullopt) << entry;
  }
}

}  // namespace
