// The rules of Training 0.6: the order of epochs, evaluations and blocks, and an optimizer's keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "runner/mllog/rules/made_log.h"

namespace {

using made::judged;
using made::Line;
using made::Log;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::string epoch(int number) { return R"({"epoch_num": )" + std::to_string(number) + "}"; }
std::string block(int first) {
  return R"({"first_epoch_num": )" + std::to_string(first) + R"(, "epoch_count": 1})";
}

/// Two blocks of one epoch and one evaluation each, by SGD.
Log good_log() {
  Log log = {{"submission_org", "\"us\""},
             {"submission_platform", "\"one\""},
             {"submission_poc_name", "\"me\""},
             {"submission_entry", "\"{}\""},
             {"submission_division", "\"closed\""},
             {"submission_status", "\"onprem\""},
             {"submission_benchmark", "\"resnet\""},
             {"cache_clear", "true"},
             {"init_start"},
             {"global_batch_size", "256"},
             {"opt_name", "\"sgd\""},
             {"opt_base_learning_rate", "0.1"},
             {"opt_learning_rate_warmup_epochs", "5"},
             {"opt_learning_rate_decay_boundary_epochs", "[30]"},
             {"model_bn_span", "32"},
             {"init_stop"},
             {"run_start"}};
  for (const int number : {1, 2}) {
    log.push_back({"block_start", "null", block(number)});
    log.push_back({"epoch_start", "null", epoch(number)});
    log.push_back({"epoch_stop", "null", epoch(number)});
    log.push_back({"eval_start", "null", epoch(number)});
    log.push_back({"eval_accuracy", "0.7", epoch(number)});
    log.push_back({"eval_stop", "null", epoch(number)});
    log.push_back({"block_stop", "null", block(number)});
  }
  log.push_back({"run_stop", "null", R"({"status": "success"})"});
  return log;
}

made::Judgement of(const Log& log) { return judged(made::rules_of("training", "0.6"), log); }

Line& the(Log& log, const std::string& key, int which = 0) {
  for (Line& line : log) {
    if (line.key == key && which-- == 0) return line;
  }
  return log.front();
}

void remove(Log& log, const std::string& key, int which = 0) {
  log.erase(log.begin() + (&the(log, key, which) - log.data()));
}

TEST(Round06, PassesAGoodLog) {
  const made::Judgement judgement = of(good_log());
  EXPECT_TRUE(judgement.passes);
  EXPECT_THAT(judgement.findings, IsEmpty());
  EXPECT_THAT(judgement.files, ElementsAre("common", "resnet"));
}

TEST(Round06, CountsEpochsFromOneWithoutGaps) {
  Log log = good_log();
  the(log, "epoch_start").metadata = epoch(0);
  EXPECT_THAT(of(log).failing_keys, Contains("epoch_start"));
  log = good_log();
  the(log, "epoch_stop", 1).metadata = epoch(1);
  EXPECT_THAT(of(log).failing_keys, ElementsAre("epoch_stop"));
}

TEST(Round06, WantsAnAccuracyOfEachEvaluation) {
  Log log = good_log();
  remove(log, "eval_accuracy");
  EXPECT_THAT(of(log).failing_keys, ElementsAre("block_stop"))
      << "the next block begins as if it had been logged";
  log = good_log();
  the(log, "eval_accuracy", 1).metadata = epoch(1);
  EXPECT_THAT(of(log).failing_keys, ElementsAre("eval_accuracy"));
}

TEST(Round06, LetsNoEvaluationPrecedeItsEpoch) {
  Log log = good_log();
  std::swap(the(log, "epoch_start", 1), the(log, "eval_start", 1));
  EXPECT_THAT(of(log).failing_keys, Contains("eval_start"));
}

TEST(Round06, WantsBlocksToFollowEachOther) {
  Log log = good_log();
  the(log, "block_start", 1).metadata = block(3);
  EXPECT_THAT(of(log).failing_keys, ElementsAre("block_start", "block_stop"));
  log = good_log();
  remove(log, "block_stop");
  EXPECT_THAT(of(log).failing_keys, ElementsAre("block_start"));
}

TEST(Round06, FailsAnAbortedRun) {
  Log log = good_log();
  the(log, "run_stop").metadata = R"({"status": "aborted"})";
  EXPECT_THAT(of(log).failing_keys, ElementsAre("run_stop"));
}

TEST(Round06, AllowsTwentyMinutesOfInitialization) {
  for (const double late_ms : {1.0, 0.0}) {
    Log log = good_log();
    the(log, "init_stop").time_ms += 20 * 60e3 - late_ms;
    EXPECT_EQ(of(log).passes, late_ms > 0.0);
  }
}

TEST(Round06, WantsTheKeysOfTheOptimizerThatIsUsed) {
  Log log = good_log();
  the(log, "opt_name").value = "\"lars\"";
  made::Judgement judgement = of(log);
  EXPECT_FALSE(judgement.passes);
  EXPECT_THAT(judgement.failing_keys, IsEmpty()) << "no key is to blame";
  remove(log, "opt_learning_rate_decay_boundary_epochs");
  for (const char* const key : {"decay_steps", "decay_poly_power"}) {
    log.insert(log.begin() + 12, {std::string("lars_opt_learning_rate_") + key, "2"});
  }
  log.insert(log.begin() + 12, {"lars_opt_weight_decay", "0.0001"});
  EXPECT_FALSE(of(log).passes);
  log.insert(log.begin() + 12, {"lars_epsilon", "0"});
  EXPECT_TRUE(of(log).passes);
}

TEST(Round06, TimesMinigosModelsFromTheStartOfTheRun) {
  Log log = good_log();
  std::erase_if(log, [](const Line& line) {
    return line.key.starts_with("opt_") || line.key.starts_with("block_");
  });
  the(log, "submission_benchmark").value = "\"minigo\"";
  the(log, "run_start").time_ms += 5000;
  for (const int number : {1, 2}) {
    Line save{"save_model", R"({"iteration": )" + std::to_string(number) + "}"};
    save.time_ms += 5000 + 60e3 * number;
    log.insert(log.begin() + (&the(log, "epoch_stop", number - 1) - log.data()), save);
  }
  for (const auto& [key, value] : {std::pair("opt_base_learning_rate", "[0.1]"),
                                   {"opt_learning_rate_decay_boundary_steps", "[100]"},
                                   {"virtual_losses", "4"}}) {
    log.insert(log.begin() + 10, {key, value});
  }
  log.insert(log.end() - 1, {"eval_result", "null", R"({"timestamp": 120.0, "iteration": 2})"});
  EXPECT_THAT(of(log).failing_keys, ElementsAre("block_start", "block_stop"))
      << "the common file asks for blocks, and nothing takes that back";
  the(log, "eval_result").metadata = R"({"timestamp": 120.1, "iteration": 2})";
  EXPECT_THAT(of(log).failing_keys, Contains("eval_result"));
}

}  // namespace
