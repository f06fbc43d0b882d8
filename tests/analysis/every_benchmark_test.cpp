// Logs of benchmarks that this program does not train: losses that fall, several metrics, positions
// in samples, steps and tokens.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "analysis/audit/audit.h"
#include "analysis/facts.h"
#include "analysis/facts_of_log.h"
#include "analysis/findings/system_facts_of.h"
#include "analysis/log_file.h"
#include "analysis/own_log.h"
#include "analysis/systems.h"

namespace {

using analysis::Outcome;
using analysis::RunFacts;
using mllog::PositionUnit;
using own_log::json;
using own_log::Log;

analysis::ParsedLog parsed(const Log& log) {
  std::istringstream in(log.text());
  return analysis::parse_log(in);
}

RunFacts facts_of(const Log& log, const std::string& round = "") {
  return analysis::facts_of(parsed(log), round);
}

/// A log that has just begun; the run starts at 1 s.
Log begun(const std::string& benchmark, double batch) {
  Log log;
  log.add(0, "submission_benchmark", benchmark).add(0, "submission_division", "closed");
  log.add(0, "global_batch_size", batch).add(1000, "run_start");
  return log;
}

Log& stopped(Log& log, double ms, const json& metadata = json::object()) {
  json all = metadata;
  all["status"] = "success";
  return log.add(ms, "run_stop", nullptr, all);
}

TEST(Loss, IsBestWhereItIsLeast) {
  Log log = begun("llama2_70b_lora", 8);
  log.add(1000, "block_start", nullptr, {{"samples_count", 0}});
  log.add(5000, "block_stop", nullptr, {{"samples_count", 1536}});
  log.add(6000, "eval_accuracy", 0.9402, {{"samples_count", 1536}});
  log.add(6000, "block_start", nullptr, {{"samples_count", 1536}});
  log.add(9000, "block_stop", nullptr, {{"samples_count", 1920}});
  log.add(10000, "eval_accuracy", 0.9239, {{"samples_count", 1920}});
  log.add(500, "train_samples", 3840);
  std::rotate(log.records.begin() + 3, log.records.end() - 1, log.records.end());
  const RunFacts facts = facts_of(stopped(log, 10000));
  EXPECT_EQ(facts.outcome, Outcome::kSuccess);
  EXPECT_EQ(facts.direction(), mllog::Direction::kFalls);
  EXPECT_DOUBLE_EQ(*facts.best_quality, 0.9239);
  EXPECT_EQ(facts.at_target, 1u);
  EXPECT_EQ(facts.position_key, "samples_count");
  EXPECT_EQ(facts.position_unit, PositionUnit::kSamples);
  EXPECT_DOUBLE_EQ(*facts.progress.samples_to_target, 1920.0);
  EXPECT_DOUBLE_EQ(*facts.progress.epochs_to_target, 0.5);
  EXPECT_DOUBLE_EQ(*facts.run_throughput, 1920.0 / 9.0);
  EXPECT_DOUBLE_EQ(*facts.train_throughput, 1920.0 / 7.0) << "blocks hold the training";
}

TEST(Target, OfSeveralMembersIsReachedWhereAllAreMet) {
  Log log = begun("maskrcnn", 96);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    log.add(epoch * 10000, "epoch_start", nullptr, {{"epoch_num", epoch}});
    log.add(epoch * 10000 + 9000, "epoch_stop", nullptr, {{"epoch_num", epoch}});
    const double box = epoch == 1 ? 0.2 : 0.38;
    log.add(epoch * 10000 + 9500, "eval_accuracy",
            {{"BBOX", box}, {"SEGM", epoch == 3 ? 0.34 : 0.33}}, {{"epoch_num", epoch}});
  }
  stopped(log, 40000);
  const RunFacts facts = facts_of(log);
  EXPECT_EQ(facts.outcome, Outcome::kSuccess);
  EXPECT_EQ(facts.evaluations.size(), 3u);
  EXPECT_EQ(facts.at_target, 2u) << "the masks of the second are not good enough";
  EXPECT_DOUBLE_EQ(*facts.best_quality, 0.38);
  EXPECT_EQ(facts.metric_name(), "eval_accuracy BBOX");
  EXPECT_DOUBLE_EQ(*facts.progress.epochs_to_target, 3.0);
  for (const analysis::Finding& one : audit(parsed(log), facts)) {
    EXPECT_EQ(one.text.find("expected a number"), std::string::npos) << one.text;
  }
}

TEST(Target, OfSeveralMetricsJoinsRecordsByTheirPosition) {
  Log log = begun("stable_diffusion", 512);
  const auto add = [&](double ms, const char* metric, double value, int samples) {
    log.add(ms, "eval_accuracy", value, {{"metric", metric}, {"samples_count", samples}});
  };
  add(20000, "FID", 93.6, 2048000);
  add(21000, "CLIP", 0.155, 2048000);
  add(24000, "FID", 80.0, 3072000);  // checkpoints are evaluated in any order
  add(25000, "CLIP", 0.18, 3072000);
  add(22000, "FID", 86.1, 2560000);
  add(23000, "CLIP", 0.17, 2560000);
  const RunFacts facts = facts_of(stopped(log, 11000, {{"step_num", 5000}}), "4.0");
  ASSERT_EQ(facts.evaluations.size(), 3u);
  EXPECT_EQ(facts.outcome, Outcome::kSuccess);
  EXPECT_EQ(facts.at_target, 1u);
  EXPECT_DOUBLE_EQ(facts.evaluations[1].quality, 86.1);
  EXPECT_EQ(facts.evaluations[1].parts, (std::vector<double>{86.1, 0.17}));
  EXPECT_DOUBLE_EQ(*facts.best_quality, 80.0);
  EXPECT_DOUBLE_EQ(*facts.progress.samples_to_target, 2560000.0);
  EXPECT_DOUBLE_EQ(*facts.progress.samples_run, 2560000.0) << "5000 steps of 512";
}

TEST(Target, OfSeveralMetricsIsMissedWhereOneIsMissing) {
  Log log = begun("stable_diffusion", 512);
  log.add(2000, "eval_accuracy", 80.0, {{"metric", "FID"}, {"step_num", 5000}});
  log.add(2000, "eval_accuracy", 0.2, {{"metric", "CLIP"}, {"step_num", 6000}});
  const RunFacts facts = facts_of(stopped(log, 3000), "3.1");
  EXPECT_EQ(facts.outcome, Outcome::kTargetMissed);
  EXPECT_EQ(facts.position_unit, PositionUnit::kSteps);
  ASSERT_EQ(facts.evaluations.size(), 1u);
  EXPECT_TRUE(std::isnan(facts.evaluations[0].parts[1]));
}

TEST(Target, IsThatOfTheRoundAndTheBatchSize) {
  Log log = begun("ssd", 256);
  log.add(2000, "eval_accuracy", 0.25, {{"epoch_num", 1}});
  stopped(log, 3000);
  EXPECT_EQ(facts_of(log, "1.1").outcome, Outcome::kSuccess);
  EXPECT_EQ(facts_of(log, "2.0").outcome, Outcome::kTargetMissed);
  Log bert = begun("bert", 8192);
  bert.add(2000, "eval_accuracy", 0.709, {{"epoch_num", 200000}});
  stopped(bert, 3000);
  EXPECT_EQ(facts_of(bert, "0.7").outcome, Outcome::kSuccess);
  bert["global_batch_size"]["value"] = 448;
  EXPECT_EQ(facts_of(bert, "0.7").outcome, Outcome::kTargetMissed);
}

TEST(Positions, InTokensCountSequences) {
  Log log = begun("gpt3", 2304);
  log.add(2000, "eval_accuracy", 2.70, {{"epoch_num", 51904512}});
  log.add(4000, "eval_accuracy", 2.689, {{"epoch_num", 103809024}});
  stopped(log, 5000).add(5000, "train_samples", 103809024);
  const RunFacts facts = facts_of(log);
  EXPECT_EQ(facts.position_unit, PositionUnit::kTokens);
  EXPECT_DOUBLE_EQ(*facts.progress.samples_to_target, 103809024.0 / 2048.0);
  EXPECT_FALSE(facts.progress.epochs_to_target) << "train_samples at the end is what was consumed";
}

TEST(Positions, FromABoundOnCountSamples) {
  Log log = begun("unet3d", 56);
  log.add(1500, "train_samples", 168);
  log.add(2000, "eval_accuracy", 0.91, {{"epoch_num", 336000}});
  const RunFacts samples = facts_of(stopped(log, 3000));
  EXPECT_EQ(samples.position_unit, PositionUnit::kSamples);
  EXPECT_DOUBLE_EQ(*samples.progress.epochs_to_target, 2000.0);
  log["eval_accuracy"]["metadata"]["epoch_num"] = 2000;
  EXPECT_EQ(facts_of(log).position_unit, PositionUnit::kEpochs);
}

TEST(Positions, BelowOneBatchCountNoSamples) {
  Log log = begun("bert", 448);
  log.add(2000, "eval_accuracy", 0.73, {{"epoch_num", 3}});
  const RunFacts facts = facts_of(stopped(log, 3000));
  EXPECT_EQ(facts.outcome, Outcome::kSuccess);
  EXPECT_FALSE(facts.progress.samples_to_target);
  EXPECT_NE(facts.progress.note.find("below one global batch"), std::string::npos);
}

TEST(UnknownBenchmark, HasNoBestQuality) {
  Log log = begun("brand_new", 64);
  log.add(2000, "eval_accuracy", 3.0, {{"samples_count", 64}});
  log.add(3000, "eval_accuracy", 2.0, {{"samples_count", 128}});
  const RunFacts facts = facts_of(stopped(log, 4000));
  EXPECT_EQ(facts.outcome, Outcome::kTargetUnknown);
  EXPECT_EQ(facts.evaluations.size(), 2u);
  EXPECT_DOUBLE_EQ(*facts.final_quality, 2.0);
  EXPECT_FALSE(facts.best_quality) << "nobody knows which of the two is better";
  EXPECT_DOUBLE_EQ(*facts.progress.samples_run, 128.0);
}

TEST(Cadence, IsInWholeBatchesOfSamples) {
  const auto findings_for = [](int second) {
    Log log = begun("flux1", 2304);
    log.add(2000, "eval_accuracy", 0.7, {{"samples_count", 262656}});
    log.add(3000, "eval_accuracy", 0.58, {{"samples_count", second}});
    stopped(log, 4000);
    const analysis::ParsedLog parsed_log = parsed(log);
    std::string texts;
    for (const auto& one : audit(parsed_log, analysis::facts_of(parsed_log))) {
      if (one.rule == "evaluation-cadence") texts += one.text;
    }
    return texts;
  };
  EXPECT_EQ(findings_for(525312), "");
  EXPECT_NE(findings_for(787968).find("expected steps of 262656 in samples_count"),
            std::string::npos);
}

TEST(OlympicMean, OfUnet3dDropsFourAtEachEnd) {
  std::vector<RunFacts> runs(12);
  std::vector<analysis::SetMember> members;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Log log = begun("unet3d", 56);
    log.add(2000, "eval_accuracy", 0.91, {{"epoch_num", 1000}});
    runs[i] = facts_of(stopped(log, 1000 + 1000.0 * static_cast<double>(i + 1)));
    members.push_back({"result_" + std::to_string(i) + ".txt", &runs[i]});
  }
  std::vector<analysis::Finding> findings;
  const auto mean = [&] {
    return analysis::system_facts_of("/no/such/unet3d", members, findings).olympic_mean_s;
  };
  EXPECT_DOUBLE_EQ(*mean(), (5.0 + 6.0 + 7.0 + 8.0) / 4.0);
  for (std::size_t i = 0; i < 4; ++i) runs[i].outcome = Outcome::kTargetMissed;
  EXPECT_DOUBLE_EQ(*mean(), (9.0 + 10.0 + 11.0 + 12.0) / 4.0) << "four that fail are the slowest";
}

}  // namespace
