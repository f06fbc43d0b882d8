// Oddities of real logs: a synthetic log for each oddity of published results, and the figures and
// findings that the analysis must derive from it. Here: numbers of epochs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/oddities.h"

namespace {

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

/// A resnet log with blocks of four epochs only; `label` returns the epoch_num of an evaluation.
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

/// A log of a benchmark whose epoch_num does not count epochs, evaluated at `numbers`.
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

TEST(Oddity20, GnnNamesItsFirstEpochOneAndCountsPassesFromZero) {
  for (const char* name : {"gnn", "rgat"}) {
    Log log = fraction_log("dlrm_dcnv2", 1, {0.05, 0.1, 0.15});
    log["submission_benchmark"]["value"] = name;
    log.at("eval_accuracy", 0)["value"] = 0.6;  // their target is 0.72
    const RunReport run = judged(log);
    EXPECT_NEAR(*run.facts.progress.epochs_to_target, 0.1, 1e-12) << name;
    EXPECT_NEAR(*run.facts.progress.epochs_run, 0.15, 1e-12) << name;
  }
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

}  // namespace
