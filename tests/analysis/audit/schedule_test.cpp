// Evaluations compared with the schedule of each benchmark: the first one, and the distances.
#include <gmock/gmock.h>

#include <functional>
#include <sstream>

#include "analysis/audit/audit.h"
#include "analysis/facts.h"
#include "analysis/facts_of_log.h"
#include "analysis/log_file.h"
#include "analysis/own_log.h"

namespace {

using nlohmann::json;
using own_log::Log;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Case {
  std::string benchmark, round;
  double batch = 0.0;
  std::string position;  ///< metadata member
};

/// Changes a log before its run_stop.
using Change = std::function<void(Log&)>;

/// The findings about the schedule of a closed log with evaluations at these positions, each as
/// "rule: text".
std::vector<std::string> told(const Case& of, const std::vector<double>& positions,
                              const Change& change = {}) {
  Log log;
  log.add(0, "submission_benchmark", of.benchmark).add(0, "submission_division", "closed");
  log.add(0, "global_batch_size", of.batch).add(1000, "run_start");
  double ms = 1000;
  const bool supports_bf16x3 = of.benchmark == "maskrcnn";
  for (const double at : positions) {
    const json value =
        supports_bf16x3 ? json({{"BBOX", 0.3}, {"SEGM", 0.3}}) : json(0.1 + 1e-9 * at);
    log.add(ms += 1000, "eval_accuracy", value, {{of.position, at}});
  }
  if (change) change(log);
  log.add(100000, "run_stop", nullptr, {{"status", "success"}});
  std::istringstream in(log.text());
  const analysis::ParsedLog parsed = analysis::parse_log(in);
  std::vector<std::string> texts;
  for (const auto& one : audit(parsed, analysis::facts_of(parsed, of.round))) {
    if (one.rule == "first-evaluation" || one.rule.starts_with("evaluation-")) {
      texts.push_back(one.rule + ": " + one.text);
    }
  }
  return texts;
}

TEST(FirstEvaluation, OfLoraIsAfterThoseThatItsBatchSizeLeavesOut) {
  // Batch 8: every 384 after 3 that are left out; batch 64: after 10.
  EXPECT_THAT(told({"llama2_70b_lora", "5.1", 8, "samples_count"}, {1536, 1920}), IsEmpty());
  EXPECT_THAT(told({"llama2_70b_lora", "5.1", 64, "samples_count"}, {4224, 4608}), IsEmpty());
  EXPECT_THAT(
      told({"llama2_70b_lora", "5.1", 16, "samples_count"}, {1536, 1920}),
      ElementsAre("evaluation-more-frequent: llama2_70b_lora is evaluated every 384 sequences, in "
                  "whole batches: expected the first one at 1920 in samples_count, found "
                  "it at 1536, earlier"));
  EXPECT_THAT(told({"llama2_70b_lora", "4.0", 64, "samples_count"}, {8448, 8832}),
              ElementsAre(HasSubstr("at 4224 in samples_count, found it at 8448, later")));
}

TEST(FirstEvaluation, OfLlama405bIsJudgedSinceItsRoundAsksForIt) {
  const std::vector<double> sparse = {46080, 92160};
  EXPECT_THAT(told({"llama31_405b", "5.0", 1152, "samples_count"}, sparse), IsEmpty());
  EXPECT_THAT(
      told({"llama31_405b", "5.1", 1152, "samples_count"}, sparse),
      ElementsAre(
          HasSubstr("evaluation-cadence: "),
          HasSubstr("the first one at 276480 in samples_count, found it at 46080, earlier")));
  EXPECT_THAT(told({"llama31_405b", "5.1", 1152, "samples_count"}, {276480, 294912}), IsEmpty());
}

TEST(FirstEvaluation, MayBeABatchAwayWhereLogsCountSamples) {
  EXPECT_THAT(told({"llama31_8b", "5.1", 32, "samples_count"}, {12256, 24544}), IsEmpty());
  EXPECT_THAT(told({"llama31_8b", "5.1", 32, "samples_count"}, {8192, 20480}),
              ElementsAre(HasSubstr("first one at 12288 in samples_count, found it at 8192")));
}

TEST(FirstEvaluation, OfResnetIsAtTheFourthEpochOrEarlier) {
  for (const double first : {1.0, 2.0, 3.0, 4.0}) {
    EXPECT_THAT(told({"resnet", "3.0", 256, "epoch_num"}, {first, first + 4}), IsEmpty());
  }
  EXPECT_THAT(told({"resnet", "3.0", 256, "epoch_num"}, {8, 12}),
              ElementsAre(HasSubstr("the first one at 4 or earlier in epoch_num, found it at 8")));
}

TEST(FirstEvaluation, OfEachEpochMayBeNumberedFromZero) {
  for (const double first : {0.0, 1.0}) {
    EXPECT_THAT(told({"maskrcnn", "3.0", 96, "epoch_num"}, {first, first + 1}), IsEmpty());
  }
  EXPECT_THAT(told({"maskrcnn", "3.0", 96, "epoch_num"}, {5, 6}),
              ElementsAre(HasSubstr("found it at 5, later")));
}

TEST(FirstEvaluation, OfUnet3dCountsEpochsWhoseLastBatchMayBePadded) {
  for (const double first : {875.0, 1000.0}) {  // of 192 samples, or of 168
    const double step = first == 875.0 ? 18.0 : 20.0;
    EXPECT_THAT(told({"unet3d", "3.0", 48, "epoch_num"}, {first, first + step}), IsEmpty());
  }
  EXPECT_THAT(told({"unet3d", "4.0", 56, "epoch_num"}, {168000, 171360}), IsEmpty());
  EXPECT_THAT(told({"unet3d", "3.0", 56, "epoch_num"}, {500, 540}),
              ElementsAre(HasSubstr("evaluation-cadence: "),
                          HasSubstr("the first one at 1000 in epoch_num, found it at 500")));
  EXPECT_THAT(told({"unet3d", "3.0", 48, "epoch_num"}, {1200, 1218}),
              ElementsAre(HasSubstr("the first one at 1000 or earlier in epoch_num")));
}

TEST(Cadence, OfBertFollowsFromItsBatchSize) {
  // 0.05 * (230.23 * 448 + 3000000) = 155157, rounded down to 150000
  EXPECT_THAT(told({"bert", "3.0", 448, "epoch_num"}, {150080, 300160}), IsEmpty());
  EXPECT_THAT(told({"bert", "3.0", 448, "epoch_num"}, {175000, 350000}),
              ElementsAre(HasSubstr("expected steps of 150000 in epoch_num, found 1 larger, first "
                                    "175000 from 175000 to 350000"),
                          HasSubstr("first one at 150000 in epoch_num, found it at 175000")));
}

TEST(Cadence, MoreOftenThanAskedForIsANote) {
  EXPECT_THAT(told({"resnet", "4.0", 4096, "epoch_num"}, {4, 8, 12, 14, 15, 16}),
              ElementsAre("evaluation-more-frequent: resnet must be evaluated at least every 4 "
                          "epochs: expected steps of 4 in epoch_num, found 3 smaller, first 2 "
                          "from 12 to 14"));
  EXPECT_THAT(told({"resnet", "4.0", 4096, "epoch_num"}, {4, 14, 15}),
              ElementsAre(HasSubstr("evaluation-cadence: resnet must be evaluated every 4 epochs: "
                                    "expected steps of 4 in epoch_num, found 1 larger, first 10"),
                          HasSubstr("found 1 smaller, first 1 from 14 to 15")));
  EXPECT_EQ(own_log::audit_rule("evaluation-more-frequent")->severity,
            analysis::Finding::Severity::kNote);
}

/// The epochs that end at these numbers, after all evaluations.
Change trained(int first, int last) {
  return [=](Log& log) {
    for (int epoch = first; epoch <= last; ++epoch) {
      const json number = {{"epoch_num", epoch}};
      log.add(8000, "epoch_start", nullptr, number).add(8000, "epoch_stop", nullptr, number);
    }
  };
}

TEST(Cadence, HoldsUntilTheEndOfTheTraining) {
  const Case resnet{"resnet", "4.0", 4096, "epoch_num"};
  EXPECT_THAT(told(resnet, {4, 8}, trained(1, 12)), IsEmpty());
  EXPECT_THAT(told(resnet, {3, 7}, trained(0, 12)), IsEmpty()) << "numbered from 0 or 1";
  EXPECT_THAT(told(resnet, {4, 8}, trained(1, 40)),
              ElementsAre(HasSubstr("found 1 larger, first 32 from 8 to the end, 40")));
  EXPECT_THAT(told(resnet, {}, trained(1, 40)),
              ElementsAre("first-evaluation: resnet is evaluated every 4 epochs: expected the "
                          "first one at 4 or earlier in epoch_num, found none up to 40"));
  EXPECT_THAT(told(resnet, {}, trained(1, 3)), IsEmpty());
  const auto blocks = [](Log& log) {
    const json block = {{"first_epoch_num", 1}, {"epoch_count", 16}};
    log.add(9000, "block_start", nullptr, block).add(9000, "block_stop", nullptr, block);
  };
  EXPECT_THAT(told(resnet, {4, 8}, blocks), ElementsAre(HasSubstr("8 from 8 to the end, 16")));
}

TEST(FirstEvaluation, OfARunThatGoesOnFromACheckpointIsNotJudged) {
  EXPECT_THAT(
      told({"resnet", "4.0", 4096, "epoch_num"}, {36, 40},
           [](Log& log) { log.insert_before("run_start", own_log::record(1, "resumed", 1)); }),
      IsEmpty());
}

TEST(FirstEvaluation, IsNotJudgedWhereALogCountsLessThanABatch) {
  EXPECT_THAT(told({"bert", "1.0", 448, "epoch_num"}, {1, 2}),
              testing::Not(testing::Contains(HasSubstr("first-evaluation"))));
}

}  // namespace
