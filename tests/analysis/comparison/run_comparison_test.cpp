// Comparisons of sets of runs: factors, verdicts, calibration, conditions.
#include "analysis/comparison/run_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/comparison/sides.h"
#include "analysis/comparison/time_account.h"
#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/base/thrown_message.h"
#include "runner/mllog/keys.h"

namespace {

using namespace analysis::comparison;
using made::compared;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
namespace keys = mllog::keys;

constexpr ComparisonOptions kQuick = {1, 40, Per::kSystem};

/// Runs whose parts vary independently by 3 % each, and that take `times` times as long.
std::vector<made::Run> drawn(std::size_t runs, double times, std::uint64_t seed) {
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
  const auto about = [&](double value) { return value * (1.0 + 0.03 * random.normal()); };
  std::vector<made::Run> list;
  for (std::size_t i = 0; i < runs; ++i) {
    made::Run run;
    run.staging_s = about(10.0 * times);
    run.eval_s = about(20.0 * times);
    run.epochs = about(5.0);
    run.train_s = about(12.0 * times) * run.epochs;
    run.ttt_s = run.staging_s + run.eval_s + run.train_s + about(10.0 * times);
    list.push_back(run);
  }
  return list;
}

double product_of_ratios(const RunComparison& comparison) {
  double product = 1.0;
  for (const FigureComparison& factor : comparison.factors) product *= factor.ratio;
  return product;
}

const ConditionDifference* find(const std::vector<ConditionDifference>& list,
                                const std::string& what) {
  for (const ConditionDifference& one : list) {
    if (one.what == what) return &one;
  }
  return nullptr;
}

TEST(RunComparison, HasFactorsThatMultiplyToTheRatio) {
  made::Side first(drawn(5, 1.0, 1)), second(drawn(7, 0.6, 2));
  const RunComparison comparison = compared(first, second);
  ASSERT_TRUE(comparison.total);
  EXPECT_TRUE(comparison.scored);
  EXPECT_DOUBLE_EQ(comparison.total->first, *first.system.olympic_mean_s);
  EXPECT_DOUBLE_EQ(comparison.total->second, *second.system.olympic_mean_s);
  EXPECT_EQ(comparison.factors.size(), kFactorCount);
  EXPECT_NEAR(product_of_ratios(comparison), comparison.total->ratio, 1e-12);
  EXPECT_LE(comparison.total->interval.low, comparison.total->ratio);
  EXPECT_GE(comparison.total->interval.high, comparison.total->ratio);
  EXPECT_TRUE(comparison.total->distinguishable);
  EXPECT_THAT(verdict("A", "B", comparison), AllOf(HasSubstr("B takes 0.59"), HasSubstr("(p ")));
}

TEST(RunComparison, FindsWhichFactorDiffers) {
  std::vector<made::Run> runs = drawn(5, 1.0, 1);
  made::Side first(runs);
  for (made::Run& run : runs) {  // twice the epochs in the same time
    run.epochs *= 2.0;
  }
  made::Side second(runs);
  const RunComparison comparison = compared(first, second);
  EXPECT_DOUBLE_EQ(comparison.total->ratio, 1.0);
  EXPECT_FALSE(comparison.total->distinguishable);
  EXPECT_THAT(verdict("A", "B", comparison), HasSubstr("A and B: not distinguishable (p 1)"));
  EXPECT_DOUBLE_EQ(comparison.factors[0].ratio, 0.5);
  EXPECT_DOUBLE_EQ(comparison.factors[1].ratio, 2.0);
  EXPECT_TRUE(comparison.factors[0].distinguishable);
  EXPECT_TRUE(comparison.factors[1].distinguishable);
  for (const std::size_t same : {2, 3, 4}) EXPECT_FALSE(comparison.factors[same].distinguishable);
}

TEST(RunComparison, CallsAtMostFivePercentOfEqualSystemsDifferent) {
  for (const std::size_t runs : {4, 5, 8}) {
    int totals = 0, with_factors = 0;
    constexpr int kPairs = 1000;
    for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
      made::Side first(drawn(runs, 1.0, 2 * pair)), second(drawn(runs, 1.0, 2 * pair + 1));
      const RunComparison comparison = compared(first, second, kQuick);
      bool factor_differs = false;
      for (const FigureComparison& factor : comparison.factors) {
        factor_differs = factor_differs || factor.distinguishable;
      }
      totals += comparison.total->distinguishable ? 1 : 0;
      with_factors += factor_differs ? 1 : 0;
    }
    EXPECT_LE(totals, kPairs / 20) << runs << " runs";
    EXPECT_LE(with_factors, kPairs / 20) << runs << " runs";
    EXPECT_GE(totals, kPairs / 100) << runs << " runs: a test that never speaks tells nothing";
  }
}

TEST(RunComparison, FindsAGapOfTwentyPercentInNearlyAllPairsOfFiveRuns) {
  constexpr int kPairs = 200;
  int found = 0;
  for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
    made::Side first(drawn(5, 1.0, 2 * pair)), second(drawn(5, 1.2, 2 * pair + 1));
    found += compared(first, second, kQuick).total->distinguishable ? 1 : 0;
  }
  EXPECT_GE(found, kPairs * 95 / 100);
}

TEST(RunComparison, SaysThatTooFewRunsTellNothing) {
  made::Side first(drawn(3, 1.0, 1)), second(drawn(3, 3.0, 2)), alone(drawn(1, 3.0, 3));
  const RunComparison comparison = compared(first, second);
  EXPECT_FALSE(comparison.total->p_value);
  EXPECT_FALSE(comparison.total->distinguishable);
  EXPECT_THAT(verdict("A", "B", comparison),
              AllOf(HasSubstr("not distinguishable"), HasSubstr("3 and 3 runs are too few"),
                    HasSubstr("B takes 2.92 times")));
  const RunComparison one = compared(first, alone);
  EXPECT_TRUE(std::isnan(one.total->interval.low));
  EXPECT_FALSE(one.scored);
  EXPECT_DOUBLE_EQ(one.total->first, *first.system.ttt_mean_s);
  EXPECT_THAT(verdict("A", "B", one), testing::Not(HasSubstr("nan")));
}

TEST(RunComparison, AdjustsForAllThatIsToldTogether) {
  made::Side first(drawn(5, 1.0, 1)), second(drawn(5, 2.0, 2));
  std::vector<const Side*> others(5, &second.get());
  const double alone = *compared(first, second).total->p_value;
  const auto together = compare_runs(first.get(), others, {});
  EXPECT_DOUBLE_EQ(alone, 2.0 / 252.0);
  EXPECT_DOUBLE_EQ(*together[0].total->p_value, 5.0 * alone);
  EXPECT_TRUE(together[0].total->distinguishable);
  // With more sides, no p-value of five runs each could be small enough.
  others.push_back(&second.get());
  const auto more = compare_runs(first.get(), others, {});
  EXPECT_FALSE(more[0].total->p_value);
  EXPECT_THAT(verdict("A", "B", more[0]), HasSubstr("in 6 comparisons at once"));
}

/// The interval contains the true ratio in about 95 of 100 pairs, with few runs or many.
TEST(RunComparison, HasIntervalsThatHoldTheTruth) {
  for (const std::size_t runs : {4, 5, 10}) {
    int held = 0;
    constexpr int kPairs = 400;
    for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
      made::Side first(drawn(runs, 1.0, 2 * pair)), second(drawn(runs, 1.25, 2 * pair + 1));
      const auto total = compared(first, second, {1, 1000, Per::kSystem}).total;
      held += total->interval.low <= 1.25 && total->interval.high >= 1.25 ? 1 : 0;
    }
    EXPECT_GE(held, kPairs * 91 / 100) << runs << " runs";
  }
}

TEST(RunComparison, LeavesOutRunsThatDoNotCount) {
  made::Side first(drawn(5, 1.0, 1)), second(drawn(6, 1.0, 2));
  second.run(0).outcome = analysis::Outcome::kTargetMissed;
  second.run(1).resumed = true;
  second.rate();
  const RunComparison comparison = compared(first, second);
  EXPECT_EQ(comparison.second_runs, 4u);
  EXPECT_FALSE(comparison.scored);  // two failed
  EXPECT_EQ(find(comparison.unequal, "failed runs")->second, "2 of 6");
  EXPECT_NE(find(comparison.unequal, "score"), nullptr);
  for (std::size_t i = 0; i < 6; ++i) second.run(i).outcome = analysis::Outcome::kAborted;
  second.rate();
  const RunComparison none = compared(first, second);
  EXPECT_FALSE(none.total);
  EXPECT_THAT(verdict("A", "B", none), HasSubstr("has no run that reached its target"));
}

TEST(RunComparison, MultipliesByNodesOrUnits) {
  made::Side first(drawn(5, 1.0, 1)), second(drawn(5, 0.5, 2));
  first.system.compute_units = 8.0;
  second.system.compute_units = 32.0;
  const double plain = compared(first, second).total->ratio;
  const RunComparison per_unit = compared(first, second, {1, 40, Per::kUnit});
  EXPECT_NEAR(per_unit.total->ratio, 4.0 * plain, 1e-12);
  EXPECT_NEAR(product_of_ratios(per_unit), per_unit.total->ratio, 1e-12);
  EXPECT_EQ(per_unit.total->unit, "unit s");
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] {
                compared(first, second, {1, 40, Per::kNode});
              }),
              AllOf(HasSubstr("side: --baseline node"), HasSubstr("how many it has")));
  for (std::size_t i = 0; i < 5; ++i) {
    first.run(i).config[keys::kNumberOfNodes] = std::int64_t{2};
    second.run(i).config[keys::kNumberOfNodes] = std::int64_t{1};
  }
  EXPECT_NEAR(compared(first, second, {1, 40, Per::kNode}).total->ratio, plain / 2.0, 1e-12);
}

TEST(RunComparison, OfInstancesIsByTheTimePerModel) {
  made::Side first(drawn(4, 1.0, 1)), second(drawn(8, 1.0, 2)), runs(drawn(5, 1.0, 3));
  first.system.weak = second.system.weak = true;
  first.system.ttta_s = 400.0;
  second.system.ttta_s = 600.0;
  const RunComparison comparison = compared(first, second);
  ASSERT_TRUE(comparison.total);
  EXPECT_DOUBLE_EQ(comparison.total->first, 100.0);
  EXPECT_DOUBLE_EQ(comparison.total->ratio, 0.75);
  EXPECT_FALSE(comparison.total->p_value);
  EXPECT_THAT(comparison.factors, IsEmpty());
  EXPECT_THAT(verdict("A", "B", comparison), HasSubstr("is one measurement"));
  EXPECT_THAT(verdict("A", "B", compared(first, runs)), HasSubstr("no figure in common"));
}

TEST(RunComparison, RefusesNodesThatAreNone) {
  made::Side first(drawn(5, 1.0, 1)), second(drawn(5, 1.0, 2));
  first.system.compute_units = 0.0;
  second.system.compute_units = 4.0;
  EXPECT_THROW(compared(first, second, {1, 40, Per::kUnit}), base::ConfigError);
}

TEST(RunComparison, LeavesOutRunsThatTookNoTime) {
  made::Side first(drawn(5, 1.0, 1)), second(drawn(5, 1.0, 2));
  for (const std::size_t i : {0, 1, 2, 3, 4}) second.run(i).ttt_s = i == 0 ? 0.0 : -3.0;
  second.rate();
  EXPECT_FALSE(compared(first, second).total);
}

TEST(RunComparison, DoesWithoutEpochsWhereOneSideHasNone) {
  made::Side first(drawn(5, 1.0, 1)), second(drawn(5, 1.0, 2));
  second.run(3).progress.epochs_run.reset();
  const RunComparison comparison = compared(first, second);
  EXPECT_EQ(comparison.factors[1].ratio, 1.0);
  EXPECT_FALSE(comparison.factors[1].p_value);
  EXPECT_NEAR(product_of_ratios(comparison), comparison.total->ratio, 1e-12);
}

TEST(Conditions, OfEqualSidesAreNotTold) {
  made::Side first(drawn(5, 1.0, 1)), second(drawn(5, 1.0, 2));
  const RunComparison comparison = compared(first, second);
  EXPECT_THAT(comparison.unequal, IsEmpty());
  EXPECT_THAT(comparison.differences, IsEmpty());
  EXPECT_FALSE(comparison.inside);
}

/// A condition, a change that makes it differ on the second side, and its text for that side.
struct Condition {
  std::string what, told;
  std::function<void(made::Side&)> change;
};

TEST(Conditions, ThatDifferAreToldEachAlone) {
  const auto log = [](const char* key, const analysis::Value& value) {
    return [=](made::Side& side) {
      for (std::size_t i = 0; i < 5; ++i) side.run(i).config[key] = value;
    };
  };
  const auto each = [](const std::function<void(analysis::RunFacts&)>& change) {
    return [=](made::Side& side) {
      for (std::size_t i = 0; i < 5; ++i) change(side.run(i));
    };
  };
  const std::vector<Condition> conditions = {
      {"round", "hpc-2.0", [](made::Side& side) { side.get().round = "hpc-2.0"; }},
      {"division", "open", log(keys::kSubmissionDivision, std::string("open"))},
      {"division", "open", [](made::Side& side) { side.system.description.division = "open"; }},
      {"global_batch_size", "64", log(keys::kGlobalBatchSize, std::int64_t{64})},
      {"train_samples", "10", log(keys::kTrainSamples, std::int64_t{10})},
      {"eval_samples", "10", log(keys::kEvalSamples, std::int64_t{10})},
      {"opt_name", "lamb", log(keys::kOptName, std::string("lamb"))},
      {"quality target", "eval_error 0.124", each([](analysis::RunFacts& run) {
         run.metric = "eval_error";
         run.target = mllog::find_benchmark("cosmoflow")->evaluation().target;
       })},
      {"staging", "not logged", each([](analysis::RunFacts& run) { run.parts.staging_s.reset(); })},
      {"staging", "before the run, at least in part",
       each([](analysis::RunFacts& run) { run.parts.staging_in_run_s = 2.0; })},
      {"staging", "logged, but shorter than 1 s: nothing was copied",
       each([](analysis::RunFacts& run) { run.parts.staging_s = 0.5; })},
      {"evaluation", "beside the training",
       each([](analysis::RunFacts& run) { run.parts.async_eval = true; })},
      {"evaluation", "not marked", each([](analysis::RunFacts& run) { run.parts.eval_s.reset(); })},
      {"scaling factor of the review", "1.08",
       [](made::Side& side) { side.system.scaling_factor = 1.08; }},
  };
  for (const Condition& condition : conditions) {
    made::Side first(drawn(5, 1.0, 1)), second(drawn(5, 1.0, 2));
    condition.change(second);
    const RunComparison comparison = compared(first, second);
    ASSERT_EQ(comparison.unequal.size(), 1u) << condition.what << ": " << condition.told;
    EXPECT_EQ(comparison.unequal[0].what, condition.what);
    EXPECT_EQ(comparison.unequal[0].second, condition.told);
    EXPECT_THAT(comparison.differences, IsEmpty());
  }
}

TEST(Conditions, TellSettingsThatAreTheSameInAllRunsOfASide) {
  made::Side first(drawn(5, 1.0, 1)), second(drawn(5, 1.0, 2));
  for (std::size_t i = 0; i < 5; ++i) {
    first.get().runs[i].settings = {{"lr", "0.1"}, {"seed", std::to_string(i)}, {"old", "1"}};
    second.get().runs[i].settings = {{"lr", "0.2"}, {"seed", std::to_string(i + 9)}};
  }
  const RunComparison comparison = compared(first, second);
  ASSERT_EQ(comparison.differences.size(), 2u);
  EXPECT_EQ(comparison.differences[0].what, "config lr");
  EXPECT_EQ(comparison.differences[0].second, "0.2");
  EXPECT_EQ(comparison.differences[1].what, "config old");
  EXPECT_EQ(comparison.differences[1].second, "none");
}

/// Telemetry of 2 ranks: subsystem "forward" and "exchange".
analysis::RunTelemetry telemetry(double forward_s, double exchange_s, const std::string& cpu) {
  analysis::RunTelemetry told;
  told.ranks = 2;
  told.subsystems.wall_s = forward_s + exchange_s;
  told.subsystems.parts = {{"forward", "", forward_s - 1.0, forward_s, forward_s + 1.0, {}, {}, {}},
                           {"exchange", "", exchange_s, exchange_s, exchange_s, {}, {}, {}}};
  told.provenance = {{"machine.cpu", cpu}};
  return told;
}

TEST(TelemetryComparison, TellsSubsystemsRanksStragglersAndMachine) {
  made::Side first(drawn(2, 1.0, 1)), second(drawn(2, 1.0, 2));
  const analysis::RunTelemetry one = telemetry(10.0, 5.0, "x"), other = telemetry(20.0, 5.0, "x"),
                               third = telemetry(6.0, 9.0, "y");
  first.get().runs[0].telemetry = &one;
  first.get().runs[1].telemetry = &other;
  analysis::RunTelemetry slow = third;
  slow.waiting.stragglers.push_back({"training", 1, 0, "host", 2.0, 1.5, {{"forward", 2.0}}});
  second.get().runs[0].telemetry = &slow;
  const analysis::LayerTimes layers[] = {{{"conv1", 0.5}, {"fc", 0.1}},
                                         {{"conv1", 0.7}, {"fc", 0.1}},
                                         {{"conv1", 0.2}, {"new", 0.05}}};
  first.get().runs[0].layers = &layers[0];
  first.get().runs[1].layers = &layers[1];
  second.get().runs[0].layers = &layers[2];
  const RunComparison comparison = compared(first, second);
  ASSERT_TRUE(comparison.inside);
  const TelemetryComparison& inside = *comparison.inside;
  EXPECT_EQ(inside.first_wall_s, 20.0);
  EXPECT_EQ(inside.subsystems[0].first_s, 15.0);
  EXPECT_EQ(inside.subsystems[0].difference_s(), -9.0);
  EXPECT_EQ(inside.subsystems[0].first_spread_s, 2.0);
  EXPECT_EQ(inside.subsystems[1].difference_s(), 4.0);
  EXPECT_THAT(inside.first_waiting, IsEmpty());
  EXPECT_THAT(inside.second_waiting,
              Contains(AllOf(HasSubstr("result_1.txt: "), HasSubstr("rank 1"))));
  ASSERT_EQ(inside.layers.size(), 3u);
  EXPECT_EQ(inside.layers[0].name, "conv1");
  EXPECT_NEAR(inside.layers[0].difference_s(), -0.4, 1e-12);
  EXPECT_EQ(inside.layers[1].name, "fc");
  EXPECT_FALSE(inside.layers[1].second_s);
  EXPECT_EQ(find(comparison.differences, "machine.cpu")->second, "y");
}

TEST(UnequalConditions, TellOfTimesInAnotherUnit) {
  const std::vector<made::Run> one(1);
  made::Side first(one), second(one);
  second.run(0).other_unit = "likely seconds (s) since 1970";
  const RunComparison comparison = compared(first, second);
  ASSERT_NE(find(comparison.unequal, "time_ms"), nullptr);
  EXPECT_EQ(find(comparison.unequal, "time_ms")->second, "likely seconds (s) since 1970");
}

}  // namespace
