// The catalogue of benchmarks: which facts apply to which round, and errors for a damaged file.
#include "runner/mllog/benchmarks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "runner/mllog/keys.h"

namespace mllog {
namespace {

using ::testing::HasSubstr;

double target_of(const char* benchmark, const char* round, std::optional<double> batch = {}) {
  return find_benchmark(benchmark)->evaluation(round, batch).target.main().value;
}

std::string refusal(const std::string& benchmark) {
  return base::thrown_message<base::ConfigError>(
      [&] { read_benchmarks(R"({"benchmarks": [)" + benchmark + "]}", "made.json"); });
}

TEST(Benchmarks, GiveTheTargetOfTheRound) {
  EXPECT_EQ(target_of("ssd", "0.5"), 0.212);
  EXPECT_EQ(target_of("ssd", "1.1"), 0.23);
  EXPECT_EQ(target_of("ssd", "2.0"), 0.34);
  EXPECT_EQ(target_of("ssd", ""), 0.34);
  EXPECT_EQ(target_of("gnmt", "0.6"), 24.0);
  EXPECT_EQ(target_of("gnmt", "0.7"), 0.24);
  EXPECT_EQ(target_of("resnet", "0.5"), 0.749);
}

TEST(Benchmarks, GiveTheTargetOfTheBatchSize) {
  EXPECT_EQ(target_of("bert", "0.7", 448), 0.712);
  EXPECT_EQ(target_of("bert", "0.7", 8192), 0.706);
  EXPECT_EQ(target_of("bert", "0.7"), 0.706);
  EXPECT_EQ(target_of("bert", "1.0", 448), 0.72);
  EXPECT_EQ(find_benchmark("bert")->batch_limit("0.7"), 8192);
  EXPECT_EQ(find_benchmark("bert")->batch_limit("1.0"), std::nullopt);
}

TEST(Benchmarks, SayWhichWayAQualityImproves) {
  const TargetPart& loss = find_benchmark("llama31_8b")->evaluation().target.main();
  EXPECT_EQ(loss.direction, Direction::kFalls);
  EXPECT_TRUE(loss.met_by(3.3));
  EXPECT_FALSE(loss.met_by(3.31));
  EXPECT_EQ(loss.words(), "<= 3.3");
  const TargetPart& reward = find_benchmark("qwen35_397b_grpo")->evaluation().target.main();
  EXPECT_FALSE(reward.met_by(0.69));
  EXPECT_TRUE(reward.met_by(0.691));
  EXPECT_FALSE(reward.met_by(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(reward.words(), "> 0.69");
  EXPECT_EQ(better(Direction::kFalls, 3.2, 3.4), 3.2);
  EXPECT_EQ(better(Direction::kRises, 0.2, std::numeric_limits<double>::quiet_NaN()), 0.2);
}

TEST(Benchmarks, AreAtTheirTargetWhereAllPartsAreMet) {
  const QualityTarget& target = find_benchmark("stable_diffusion")->evaluation().target;
  ASSERT_EQ(target.parts.size(), 2u);
  EXPECT_EQ(target.words(), "FID <= 90 and CLIP >= 0.15");
  EXPECT_TRUE(target.met_by(std::array{86.1, 0.17}));
  EXPECT_FALSE(target.met_by(std::array{86.1, 0.14}));
  EXPECT_FALSE(target.met_by(std::array{93.6, 0.17}));
  EXPECT_FALSE(target.met_by(std::array{86.1}));
  EXPECT_EQ(find_benchmark("maskrcnn")->evaluation().target.main().name(), "BBOX");
}

TEST(Benchmarks, SayWhatPositionsCount) {
  EXPECT_EQ(find_benchmark("resnet")->evaluation().counts, PositionUnit::kEpochs);
  EXPECT_EQ(find_benchmark("dlrm_dcnv2")->evaluation().counts, PositionUnit::kPasses);
  EXPECT_EQ(find_benchmark("bert")->evaluation().position, keys::kEpochNum);
  EXPECT_EQ(find_benchmark("bert")->evaluation().counts, PositionUnit::kSamples);
  EXPECT_EQ(find_benchmark("flux1")->evaluation().position, "samples_count");
  EXPECT_EQ(find_benchmark("stable_diffusion")->evaluation("3.1").counts, PositionUnit::kSteps);
  EXPECT_EQ(find_benchmark("stable_diffusion")->evaluation("4.0").counts, PositionUnit::kSamples);
  EXPECT_EQ(find_benchmark("gpt3")->evaluation().tokens_per_sample, 2048);
}

TEST(Benchmarks, CountRunsByRound) {
  EXPECT_EQ(find_benchmark("ncf")->runs("0.5"), 100);
  EXPECT_EQ(find_benchmark("minigo")->runs("0.5"), 20);
  EXPECT_EQ(find_benchmark("minigo")->runs("0.7"), 10);
  EXPECT_EQ(find_benchmark("unet3d")->runs(), 40);
  EXPECT_EQ(find_benchmark("unet3d")->dropped_each_end, 4);
  EXPECT_EQ(find_benchmark("gpt3")->dropped_each_end, 1);
}

TEST(Benchmarks, MakeAResultOfTheFirstRunsThatConvergeWhereTheRoundSaysSo) {
  EXPECT_EQ(find_benchmark("ncf")->first_converging("0.5"), 50);
  EXPECT_EQ(find_benchmark("ncf")->first_converging("0.6"), std::nullopt);
  EXPECT_EQ(find_benchmark("resnet")->first_converging("0.5"), std::nullopt);
}

TEST(Benchmarks, KeepSchedulesToTheirRounds) {
  EXPECT_EQ(find_benchmark("llama31_405b")->schedule("5.0"), nullptr);
  ASSERT_NE(find_benchmark("llama31_405b")->schedule("5.1"), nullptr);
  EXPECT_EQ(find_benchmark("llama31_405b")->schedule("5.1")->every, 18432.0);
  ASSERT_NE(find_benchmark("unet3d")->schedule(), nullptr);
  EXPECT_EQ(find_benchmark("unet3d")->schedule()->in, Schedule::Unit::kSamplesInWholeEpochs);
}

TEST(Benchmarks, SayTheBoundsOfSettings) {
  SettingBound bound;
  bound.at_least = 1.0;
  bound.whole = true;
  EXPECT_TRUE(bound.met_by(3.0));
  EXPECT_FALSE(bound.met_by(2.5));
  EXPECT_FALSE(bound.met_by(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(bound.words(), "must be a whole number of at least 1");
  bound = {};
  bound.above = 0.0;
  bound.below = 1.0;
  EXPECT_FALSE(bound.met_by(1.0));
  EXPECT_EQ(bound.words(), "must lie between 0 and 1, and be neither");
}

TEST(Benchmarks, KnowNothingOfOtherNames) { EXPECT_EQ(find_benchmark("resnet50"), nullptr); }

TEST(Benchmarks, OrderRoundsByTheirNumbers) {
  EXPECT_TRUE(is_earlier_round("0.7", "1.0"));
  EXPECT_TRUE(is_earlier_round("9.1", "10.0"));
  EXPECT_FALSE(is_earlier_round("5.1", "5.1"));
}

TEST(BenchmarkFile, NamesThePlaceOfAFault) {
  const std::string head = R"({"name": "x", "usage": "training", "runs": 5, )";
  EXPECT_THAT(refusal(head + R"("evaluations": [{"target": [{"at_lest": 1}]}]})"),
              HasSubstr("made.json: /benchmarks/0/evaluations/0/target/0: must have one of"));
  EXPECT_THAT(refusal(head + R"("evaluations": []})"), HasSubstr("/benchmarks/0/evaluations"));
  EXPECT_THAT(refusal(head + R"("evaluations": [{"until": "2.0", "target": [{"above": 1}]}]})"),
              HasSubstr("must hold for the newest round"));
  EXPECT_THAT(refusal(head + R"("evaluations": [{"target": [{"above": 1}], "until": "two"}]})"),
              HasSubstr("must be a round such as 0.7, got \"two\""));
  EXPECT_THAT(refusal(head + R"("evaluations": [{"target": [{"above": 1}], "counts": "hours"}]})"),
              HasSubstr("must be one of epochs, passes, samples, tokens, steps"));
  EXPECT_THAT(refusal(head + R"("colour": 1, "evaluations": [{"target": [{"above": 1}]}]})"),
              HasSubstr("/benchmarks/0/colour: unknown key"));
  EXPECT_THAT(
      refusal(head + R"("dropped_each_end": 3, "evaluations": [{"target": [{"above": 1}]}]})"),
      HasSubstr("more runs are dropped than count"));
  EXPECT_THAT(
      refusal(head + R"("earlier_runs": [{"until": "0.5", "runs": 9, "first_converging": 10}],
                                "evaluations": [{"target": [{"above": 1}]}]})"),
      HasSubstr("/earlier_runs/0/first_converging: must be between 1 and 9, got 10"));
  EXPECT_THAT(refusal("7"), HasSubstr("/benchmarks/0: must be an object"));
  EXPECT_THAT(base::thrown_message<base::ConfigError>([] { read_benchmarks("{", "made.json"); }),
              HasSubstr("made.json: line 1"));
}

TEST(BenchmarkFile, RefusesTheSameNameTwice) {
  const std::string one =
      R"({"name": "x", "usage": "hpc", "runs": 5, "evaluations": [{"target": [{"above": 1}]}]})";
  EXPECT_THAT(refusal(one + "," + one), HasSubstr("/benchmarks/1/name: x is already there"));
}

}  // namespace
}  // namespace mllog
