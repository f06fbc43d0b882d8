// Tests of the configuration keys that all workloads share.
#include "runner/run_config.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/error.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::HasSubstr;

RunConfig parse(const json& object) {
  const base::ObjectReader reader(object, "small.json");
  const RunConfig config = parse_run_config(reader, "small.json");
  reader.reject_unknown();
  return config;
}

std::string error_of(const json& object) {
  try {
    parse(object);
  } catch (const base::ConfigError& e) {
    return e.what();
  }
  return "no error";
}

TEST(RunConfig, TakesDefaultsForAllButWorkloadAndEpochs) {
  const RunConfig config = parse({{"workload", "toy"}, {"epochs", 3}});
  EXPECT_EQ(config.workload, "toy");
  EXPECT_EQ(config.epochs, 3);
  EXPECT_FALSE(config.has_target);
  EXPECT_EQ(config.submission.division, "open");
  EXPECT_EQ(config.clear_caches, "auto");
  EXPECT_FALSE(config.system_name.empty());
}

TEST(DefaultSystemName, DoesNotDependOnTheHostWithinAJob) {
  ::setenv("SLURM_JOB_ID", "17", 1);
  ::unsetenv("SLURM_CLUSTER_NAME");
  EXPECT_THAT(default_system_name(), testing::StartsWith("1x"));
  ::setenv("SLURM_CLUSTER_NAME", "Hawk", 1);
  EXPECT_EQ(default_system_name(), "hawk");
  ::unsetenv("SLURM_CLUSTER_NAME");
  ::unsetenv("SLURM_JOB_ID");
}

TEST(RunConfig, ReadsEveryKeyItNames) {
  const RunConfig config =
      parse(json::parse(R"({"workload": "toy", "epochs": 9, "seed": 18446744073709551615,
      "target": {"quality": 0.8}, "submission": {"org": "us", "division": "closed",
      "status": "research", "platform": "box", "benchmark": "resnet"},
      "evaluation": {"every_epochs": 4, "offset_epochs": 1},
      "results": {"directory": "out", "system": "my box/1"}, "clear_caches": "never",
      "threads": 2, "hang_timeout_s": 60, "lost_timeout_s": 5})"));
  EXPECT_EQ(config.seed, 18446744073709551615ULL);
  EXPECT_TRUE(config.has_target);
  EXPECT_EQ(config.target_quality, 0.8);
  EXPECT_EQ(config.submission.org, "us");
  EXPECT_EQ(config.submission.division, "closed");
  EXPECT_EQ(config.submission.status, "research");
  EXPECT_EQ(config.submission.platform, "box");
  EXPECT_EQ(config.submission.benchmark, "resnet");
  EXPECT_EQ(config.evaluation.every_epochs, 4);
  EXPECT_EQ(config.evaluation.offset_epochs, 1);
  EXPECT_EQ(config.results_directory, "out");
  EXPECT_EQ(config.system_name, "my-box-1");
  EXPECT_EQ(config.clear_caches, "never");
  EXPECT_EQ(config.threads, 2);
  EXPECT_EQ(config.watch.hang_timeout_s, 60);
  EXPECT_EQ(config.watch.lost_timeout_s, 5);
}

TEST(RunConfig, RefusesWhatCannotBe) {
  EXPECT_THAT(error_of({{"epochs", 1}}), HasSubstr("/workload"));
  EXPECT_THAT(error_of({{"workload", "toy"}}), HasSubstr("/epochs"));
  EXPECT_THAT(error_of({{"workload", "toy"}, {"epochs", 0}}), HasSubstr("/epochs"));
  EXPECT_THAT(error_of({{"workload", "toy"}, {"epochs", 1}, {"clear_caches", "maybe"}}),
              HasSubstr("/clear_caches"));
  EXPECT_THAT(error_of({{"workload", "toy"}, {"epochs", 1}, {"submission", {{"division", "opn"}}}}),
              HasSubstr("/submission/division"));
  EXPECT_THAT(error_of({{"workload", "toy"}, {"epochs", 1}, {"epoch", 2}}), HasSubstr("/epoch"));
}

TEST(RunConfig, RefusesAScheduleThatNeverEvaluates) {
  EXPECT_THAT(error_of({{"workload", "toy"}, {"epochs", 3}, {"evaluation", {{"every_epochs", 4}}}}),
              HasSubstr("first evaluation would be after epoch 4, but /epochs is 3"));
}

TEST(EvaluationConfig, ComesEveryFewEpochsAfterItsOffset) {
  EvaluationConfig every;
  every.every_epochs = 4;
  EXPECT_EQ(every.next_due(1), 4);
  EXPECT_EQ(every.next_due(4), 4);
  EXPECT_EQ(every.next_due(5), 8);
  every.offset_epochs = 1;
  EXPECT_EQ(every.next_due(1), 1);
  EXPECT_EQ(every.next_due(2), 5);
  EXPECT_EQ(every.next_due(5), 5);
  EXPECT_EQ(every.next_due(6), 9);
}

TEST(DeriveSeeds, AreDistinctAndAFunctionOfTheMasterAlone) {
  const auto seeds = derive_seeds(7, 1000);
  const std::set<std::uint64_t> distinct(seeds.begin(), seeds.end());
  EXPECT_EQ(distinct.size(), 1000U);
  EXPECT_EQ(distinct.count(0), 0U);
  EXPECT_EQ(derive_seeds(7, 1000), seeds);
  const auto fewer = derive_seeds(7, 3);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), seeds.begin()));
  EXPECT_NE(derive_seeds(8, 1), derive_seeds(7, 1));
}

TEST(Sanitized, LeavesOnePathComponent) {
  EXPECT_EQ(sanitized("Intel(R) Xeon(R)  @ 2.7"), "Intel-R-Xeon-R-2.7");
  EXPECT_EQ(sanitized("../../etc"), "etc");
  EXPECT_EQ(sanitized(".."), "unnamed");
  EXPECT_EQ(sanitized("a/b"), "a-b");
}

}  // namespace
}  // namespace runner
