// What the RCP test takes from the records of a log.
#include "analysis/submission/rcp_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/submission/submission_tree.h"
#include "runner/mllog/record_reader.h"

namespace {

using analysis::submission::RcpRun;
using golden::record;

RcpRun run_of(const std::string& text, const std::string& round = "") {
  std::istringstream in(text);
  mllog::RecordReader reader(in);
  analysis::submission::RcpCollector collector(round);
  while (const auto item = reader.next()) {
    std::visit([&](const auto& one) { collector.add(one); }, *item);
  }
  return collector.run();
}

std::string evaluation(const std::string& epoch, const std::string& key = "eval_accuracy") {
  return record(key, "0.5", "{\"epoch_num\": " + epoch + "}");
}

std::string stop(const std::string& status) {
  return record("run_stop", "null", "{\"status\": \"" + status + "\"}");
}

TEST(RcpCollector, TakesTheLastEvaluationBeforeTheStop) {
  const RcpRun run =
      run_of(record("submission_benchmark", "\"oc20\"") + record("global_batch_size", "256") +
             evaluation("1") + evaluation("2") + stop("success") + evaluation("3"));
  EXPECT_EQ(run.benchmark, "oc20");
  EXPECT_EQ(run.batch_size, 256.0);
  EXPECT_EQ(run.converged_after, 2.0);
  EXPECT_TRUE(run.findings.empty());
}

TEST(RcpCollector, TakesEitherMetric) {
  EXPECT_EQ(run_of(evaluation("4", "eval_error") + stop("success")).converged_after, 4.0);
}

TEST(RcpCollector, RoundsToThreeDecimalsAsPythonDoes) {
  EXPECT_EQ(run_of(evaluation("1.05049") + stop("success")).converged_after, 1.05);
  EXPECT_EQ(run_of(evaluation("0.0625") + stop("success")).converged_after, 0.062)
      << "an exact half goes to the even digit";
  EXPECT_EQ(run_of(evaluation("113360") + stop("success")).converged_after, 113360.0);
}

TEST(RcpCollector, TakesNoOtherStatusThanSuccess) {
  for (const char* const status : {"aborted", "abort", "fail", ""}) {
    EXPECT_FALSE(run_of(evaluation("1") + stop(status)).converged_after) << status;
  }
  EXPECT_FALSE(run_of(evaluation("1") + record("run_stop", "null")).converged_after);
  EXPECT_FALSE(run_of(evaluation("1")).converged_after) << "cut off";
  EXPECT_FALSE(run_of(stop("success")).converged_after) << "no evaluation";
}

std::string benchmark(const std::string& name) {
  return record("submission_benchmark", "\"" + name + "\"");
}

TEST(RcpCollector, TakesSamplesCountOfBenchmarksThatCountSamples) {
  const std::string log =
      record("eval_accuracy", "3.2", R"({"samples_count": 159744.5})") + stop("success");
  EXPECT_EQ(run_of(benchmark("llama31_8b") + log).converged_after, 159744.5);
  EXPECT_FALSE(run_of(benchmark("bert") + log).converged_after) << "its position is epoch_num";
  EXPECT_FALSE(run_of(benchmark("llama31_8b") + evaluation("5") + stop("success")).converged_after);
}

/// An evaluation of stable_diffusion.
std::string image_quality(const std::string& metric, double value, int position,
                          const std::string& member = "samples_count") {
  return record(
      "eval_accuracy", std::to_string(value),
      "{\"" + member + "\": " + std::to_string(position) + ", \"metric\": \"" + metric + "\"}");
}

TEST(RcpCollector, TakesTheFirstPositionThatMeetsAllPartsOfATarget) {
  const RcpRun run =
      run_of(benchmark("stable_diffusion") + image_quality("FID", 95, 512000) +
             image_quality("FID", 90, 1024000) + image_quality("FID", 80, 1536000) +
             image_quality("FID", 70, 2048000) + image_quality("CLIP", 0.16, 512000) +
             image_quality("CLIP", 0.14, 1024000) + image_quality("CLIP", 0.15, 1536000) +
             image_quality("CLIP", 0.2, 2048000) + stop("success"));
  EXPECT_EQ(run.converged_after, 1536000.0);
  EXPECT_TRUE(run.findings.empty());
}

TEST(RcpCollector, CountsStepsOfStableDiffusionInRound31) {
  const std::string log = benchmark("stable_diffusion") +
                          image_quality("FID", 80, 5000, "step_num") +
                          image_quality("CLIP", 0.2, 5000, "step_num") + stop("success");
  EXPECT_EQ(run_of(log, "3.1").converged_after, 5000.0);
  EXPECT_FALSE(run_of(log, "4.0").converged_after);
}

TEST(RcpCollector, TellsOfASuccessWhoseTargetIsNotMet) {
  const RcpRun run = run_of(benchmark("stable_diffusion") + image_quality("FID", 80, 1024000) +
                            image_quality("CLIP", 0.2, 512000) + stop("success"));
  EXPECT_FALSE(run.converged_after);
  EXPECT_TRUE(run.succeeded);
  ASSERT_EQ(run.findings.size(), 1u);
  EXPECT_THAT(run.findings[0].text,
              testing::HasSubstr("at no samples_count is the target met: FID <= 90 and CLIP"));
}

TEST(RcpCollector, LetsTheLastStopDecide) {
  EXPECT_FALSE(run_of(evaluation("1") + stop("success") + stop("aborted")).converged_after);
}

TEST(RcpCollector, TakesTheLastBatchSize) {
  EXPECT_EQ(run_of(record("global_batch_size", "1") + record("global_batch_size", "2")).batch_size,
            2.0);
  EXPECT_FALSE(run_of(record("global_batch_size", "\"256\"")).batch_size);
}

TEST(RcpCollector, TellsOfRecordsThatOnlyMentionAKey) {
  const RcpRun run = run_of(record("global_batch_size", "256") + evaluation("1") +
                            record("target_eval_accuracy", "1", R"({"epoch_num": 9})") +
                            record("max_global_batch_size", "512") + stop("success"));
  EXPECT_EQ(run.converged_after, 9.0) << "so does the official checker";
  EXPECT_EQ(run.batch_size, 512.0);
  ASSERT_EQ(run.findings.size(), 2u);
  EXPECT_EQ(run.findings[0].rule, "rcp.odd-record");
  EXPECT_EQ(run.findings[0].line, 3);
  EXPECT_THAT(run.findings[1].text, testing::HasSubstr("max_global_batch_size"));
}

TEST(RcpCollector, FindsWordsWithinWordsAsTheOfficialCheckerDoes) {
  EXPECT_EQ(run_of(record("a_b_global_batch_size_c", "4")).batch_size, 4.0);
  EXPECT_EQ(run_of(record("notes", "4", R"({"from": "global_batch_size"})")).batch_size, 4.0);
  EXPECT_FALSE(run_of(record("global_batch_siz", "4")).batch_size);
  EXPECT_FALSE(run_of(record("lobal_batch_size", "4")).batch_size);
}

TEST(RcpCollector, PassesOverRecordsThatOnlyMentionAKeyWithoutItsFigures) {
  const RcpRun run = run_of(record("global_batch_size", "256") + evaluation("1") +
                            record("seed", "5", R"({"file": "eval_accuracy.py", "lineno": 3})") +
                            record("notes", "\"global_batch_size was tuned\"") + stop("success"));
  EXPECT_EQ(run.converged_after, 1.0);
  EXPECT_EQ(run.batch_size, 256.0);
  EXPECT_TRUE(run.findings.empty());
}

TEST(RcpCollector, TellsOnceOfEvaluationsWithoutAnEpoch) {
  const RcpRun run = run_of(record("eval_accuracy", "0.1") + record("eval_accuracy", "0.2") +
                            evaluation("\"3\"") + stop("success"));
  EXPECT_FALSE(run.converged_after);
  EXPECT_EQ(run.findings.size(), 1u);
}

}  // namespace
