// Sets on different amounts of the same hardware, and the joint analysis of a whole round.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/findings/make_report.h"
#include "analysis/findings/report.h"
#include "analysis/findings/sets.h"
#include "analysis/oddities.h"
#include "analysis/systems.h"
#include "published_logs/published_logs.h"
#include "runner/base/units.h"

namespace {

using analysis::NamedSystem;
using analysis::SystemFacts;

SystemFacts set_of(double units, double epoch_s, const std::string& accelerator = "V100") {
  SystemFacts facts;
  facts.benchmark = "cosmoflow";
  facts.compute_units = units;
  facts.description.accelerators_per_node = 4.0;
  facts.description.accelerator = accelerator;
  facts.olympic.samples_per_epoch = 1000.0;
  facts.olympic.mean_epoch_s = epoch_s;
  facts.olympic.train_throughput = 500.0 / epoch_s;
  return facts;
}

/// Calls relate_scales() for the sets, named "0", "1" and so on.
void relate(const std::vector<SystemFacts*>& all) {
  std::vector<NamedSystem> named;
  for (std::size_t i = 0; i < all.size(); ++i) named.push_back({std::to_string(i), all[i]});
  analysis::relate_scales(named);
}

TEST(Scaling, HoldsThroughputPerUnitAgainstTheSmallest) {
  SystemFacts large = set_of(512, 30.0), small = set_of(128, 100.0), middle = set_of(256, 50.0);
  relate({&large, &small, &middle});
  EXPECT_FALSE(small.scaling);
  ASSERT_TRUE(large.scaling);
  EXPECT_EQ(large.scaling->base, "1");
  EXPECT_DOUBLE_EQ(large.scaling->units, 4.0);
  EXPECT_DOUBLE_EQ(*large.scaling->efficiency, 100.0 / 30.0 / 4.0);
  EXPECT_DOUBLE_EQ(*large.scaling->train_efficiency, 100.0 / 30.0 / 4.0);
  EXPECT_DOUBLE_EQ(*middle.scaling->efficiency, 1.0);
}

TEST(Scaling, KeepsHardwareAndBenchmarksApart) {
  SystemFacts one = set_of(128, 100.0), other = set_of(256, 50.0, "P100");
  SystemFacts third = set_of(512, 20.0);
  third.benchmark = "deepcam";
  SystemFacts eight = set_of(256, 50.0);
  eight.description.accelerators_per_node = 8.0;
  relate({&one, &other, &third, &eight});
  for (const SystemFacts* facts : {&one, &other, &third, &eight}) EXPECT_FALSE(facts->scaling);
}

TEST(Scaling, NeedsToKnowTheHardwareAndTheUnits) {
  SystemFacts one = set_of(128, 100.0, ""), other = set_of(256, 50.0, "");
  relate({&one, &other});
  EXPECT_FALSE(other.scaling);
  SystemFacts known = set_of(128, 100.0), unknown = set_of(256, 50.0);
  unknown.compute_units.reset();
  relate({&known, &unknown});
  EXPECT_FALSE(unknown.scaling);
  // Accelerators without a name do not count as the processors of their nodes.
  SystemFacts processors = set_of(128, 100.0, ""), unnamed = set_of(256, 50.0, "");
  for (SystemFacts* facts : {&processors, &unnamed}) {
    facts->description.processors_per_node = 2.0;
    facts->description.processor = "Xeon";
  }
  processors.description.accelerators_per_node.reset();
  relate({&processors, &unnamed});
  EXPECT_EQ(processors.hardware(), "2 Xeon");
  EXPECT_EQ(unnamed.hardware(), "");
  EXPECT_FALSE(unnamed.scaling);
}

TEST(Scaling, TakesTheFastestOfTheSmallest) {
  SystemFacts slow = set_of(128, 120.0), fast = set_of(128, 100.0), large = set_of(256, 50.0);
  for (const bool is_slow_first : {true, false}) {
    relate({is_slow_first ? &slow : &fast, is_slow_first ? &fast : &slow, &large});
    EXPECT_EQ(large.scaling->base, is_slow_first ? "1" : "0");
    EXPECT_DOUBLE_EQ(*large.scaling->efficiency, 1.0);
    EXPECT_FALSE(slow.scaling) << "no more units";
  }
}

TEST(Scaling, LeavesOutWhatAlsoHasNoThroughput) {
  SystemFacts silent = set_of(64, 100.0), base = set_of(128, 100.0), large = set_of(256, 100.0);
  silent.olympic.mean_epoch_s.reset();
  relate({&silent, &base, &large});
  EXPECT_EQ(large.scaling->base, "1");
  EXPECT_FALSE(silent.scaling);
  EXPECT_DOUBLE_EQ(*large.scaling->efficiency, 0.5);
}

TEST(Scaling, HasACauseInCachesThatHoldMoreOfTheSetOnMoreNodes) {
  SystemFacts small = set_of(1, 100.0), large = set_of(4, 20.0), slow = set_of(4, 30.0);
  small.olympic.cached_fraction = 0.125;
  large.olympic.cached_fraction = slow.olympic.cached_fraction = 0.75;
  relate({&small, &large, &slow});
  EXPECT_EQ(analysis::cause_above_one(large, small),
            "above 100 %, where caches gave 75.0 % of the samples on 4 compute units, and 12.5 % "
            "on 1");
  EXPECT_EQ(analysis::cause_above_one(slow, small), "") << "less than 100 %";
  EXPECT_EQ(analysis::cause_above_one(small, small), "") << "nothing to compare with";
  SystemFacts even = set_of(4, 24.99);
  even.olympic.cached_fraction = 0.75;
  relate({&small, &even});
  EXPECT_EQ(analysis::cause_above_one(even, small), "") << "100.0 % as printed";
  small.olympic.cached_fraction = 0.745;
  EXPECT_EQ(analysis::cause_above_one(large, small), "") << "no more than elsewhere";
  small.olympic.cached_fraction = 0.75;
  EXPECT_EQ(analysis::cause_above_one(large, small), "") << "caches are not the cause";
  small.olympic.cached_fraction.reset();
  EXPECT_EQ(analysis::cause_above_one(large, small), "") << "not known";
}

TEST(CachedFraction, IsThatOfAllSamplesThatWereRead) {
  analysis::RunTelemetry telemetry;
  EXPECT_FALSE(telemetry.cached_fraction());
  telemetry.levels = {.copy_samples = 10, .source_samples = 20};
  EXPECT_FALSE(telemetry.cached_fraction());
  telemetry.cache = {.memory_samples = 5, .disk_samples = 2, .peer_samples = 3};
  EXPECT_DOUBLE_EQ(telemetry.cached_fraction().value(), 0.25);
  telemetry.levels = analysis::SampleLevels();
  telemetry.cache = analysis::CacheLevels();
  EXPECT_FALSE(telemetry.cached_fraction());
}

TEST(CachedFraction, OfASetIsTheMeanOfItsCountedRuns) {
  constexpr std::array kCached = {0, 10, 20, 30, 40};
  std::vector<analysis::RunFacts> facts(kCached.size());
  std::vector<analysis::RunTelemetry> telemetry(kCached.size());
  std::vector<std::filesystem::path> paths;
  const std::string folder = "box";
  std::vector<analysis::PlacedRun> runs;
  for (std::size_t i = 0; i < kCached.size(); ++i) {
    facts[i].records = 1;
    facts[i].run_start_ms = 0.0;
    facts[i].ttt_s = static_cast<double>(i + 1);  // the fastest and the slowest do not count
    facts[i].run_stop_ms = 1000.0 * *facts[i].ttt_s;
    facts[i].outcome = analysis::Outcome::kSuccess;
    telemetry[i].levels = {.source_samples = 100 - kCached[i]};
    telemetry[i].cache = {.memory_samples = kCached[i]};
    paths.emplace_back("/no/such/box/result_" + std::to_string(i) + ".txt");
  }
  for (std::size_t i = 0; i < kCached.size(); ++i) {
    runs.push_back({&folder, &paths[i], &facts[i], false, &telemetry[i]});
  }
  const auto of_set = [&] {
    return analysis::systems_of(runs).at(0).facts.olympic.cached_fraction;
  };
  EXPECT_DOUBLE_EQ(of_set().value(), (0.1 + 0.2 + 0.3) / 3.0);
  runs[0].telemetry = nullptr;
  EXPECT_TRUE(of_set());
  runs[2].telemetry = nullptr;
  EXPECT_FALSE(of_set());
}

/// Figures of a system in the joint analysis of MLPerf HPC v0.7 (arXiv 2110.11466, its tables and
/// notebooks); -1: none.
struct Row {
  const char* system;
  double time_min, stdev_min, epochs, epoch_s, samples_s_unit, staging_share, eval_share;
  double component = -1.0;                            ///< share of the variation
  double efficiency = -1.0, train_efficiency = -1.0;  ///< percent
};

// Two rows differ from the paper. It counts result_9 of abci_512xV100_tensorflow_closed, which ends
// at 0.1246 and so misses 0.124, as a success: 34.34 +- 4.0, 100.0, 20.1, 31.81, and an efficiency
// of 64.1 % on 2048. For fugaku_512xA64FX_tensorflow_closed it shows time and epochs times 1.08, a
// factor of the review that no log has: 269.59 +- 28.1, 110.5; the row has the raw figures.
constexpr Row kRows[] = {
    {"halv100_n16_tf1.15.0", 265.59, 29.0, 55.4, 287.6, 17.80, -1, .12},
    {"corigpu_n64_tf1.15.0", 364.73, 32.8, 53.9, 387.6, 13.21, .045, .12},
    {"frontera_rtx_n16_tf1.15.2_lbs1", 602.23, 76.7, 49.9, 725.2, 7.06, -1, .14, .67},
    {"daint_gpu_n128_tf2.2.0", 461.01, 11.8, 70.3, 393.8, 6.50, -1, .08},
    {"daint_gpu_n256_tf2.2.0", 327.01, 48.1, 113.1, 173.3, 7.39, -1, .03, -1, 113.6},
    {"abci_512xV100_tensorflow_closed", 34.42, 4.1, 99.6, 20.2, 31.63, .022, .04},
    {"fugaku_512xA64FX_tensorflow_closed", 249.35, 26.0, 102.1, 145.2, 4.41, .006, .12},
    {"fugaku_8192xA64FX_tensorflow_closed", 101.49, 12.9, 92.4, 62.9, 0.64, .037, .22, -1, 14.4,
     16.4},
    {"coriknl_n512_tf1.15.2", 536.06, 72.6, 111.9, 286.5, 2.23, -1, .10},
    {"coriknl_n1024_tf1.15.2", 419.69, 54.0, 163.3, 153.5, 2.08, -1, .09, -1, 93.3},
    {"abci_2048xV100_tensorflow_open", 13.21, 0.35, 98.5, 7.8, 20.41, .015, .03, .80, 64.5},
    {"fugaku_16384xA64FX_tensorflow_open", 30.07, 0.51, 158.0, 10.7, 1.87, .029, .23, -1, 42.3,
     49.6},
    {"corigpu_n64_pt1.6.0", 139.29, 3.6, 10.0, 835.7, -1, -1, .36},
    {"abci_1024xV100_pytorch_closed", 11.71, 0.02, 24.0, 23.8, -1, .188, -1},
    {"abci_1024xV100_fjpytorch_open", 10.49, 0.23, 23.7, 21.6, -1, .187, -1},
};

/// The folder with the logs of the round: a copy of its published results, or some of them. Empty
/// where there are none.
std::string round_folder() {
  const char* const given = std::getenv("TRAINMARK_HPC_V0_7");
  if (given) return given;
  const std::filesystem::path logs = published::folder();
  return logs.empty() ? "" : (logs / "hpc_v0.7").string();
}

/// Allows half a unit of the last printed digit, and a little more, as values may be rounded twice.
void expect_printed(double found, double printed, double last_digit, const char* what) {
  if (printed < 0.0) return;
  EXPECT_NEAR(found, printed, 0.51 * last_digit) << what;
}

void expect_row(const SystemFacts& facts, const Row& row) {
  SCOPED_TRACE(row.system);
  expect_printed(own_log::field(facts, "olympic_mean_s") / base::kMinute, row.time_min, 0.01,
                 "time");
  expect_printed(own_log::field(facts, "olympic_stdev_s") / base::kMinute, row.stdev_min,
                 row.stdev_min < 1.0 ? 0.01 : 0.1, "spread");
  expect_printed(own_log::field(facts, "olympic_epochs_run"), row.epochs, 0.1, "epochs");
  expect_printed(own_log::field(facts, "olympic_mean_epoch_s"), row.epoch_s, 0.1, "epoch time");
  expect_printed(own_log::field(facts, "epoch_throughput_per_unit"), row.samples_s_unit, 0.01,
                 "samples/s/unit");
  expect_printed(own_log::field(facts, "staging_fraction"), row.staging_share, 0.001, "staging");
  expect_printed(own_log::field(facts, "eval_fraction"), row.eval_share, 0.01, "evaluation");
  expect_printed(own_log::field(facts, "variation_share"), row.component, 0.01, "variation");
  if (!facts.scaling) return;  // the smaller system is missing
  EXPECT_GT(row.efficiency, 0.0) << "not published";
  expect_printed(base::kPercent * own_log::field(facts, "scaling_efficiency"), row.efficiency, 0.1,
                 "scale");
  expect_printed(base::kPercent * own_log::field(facts, "train_scaling_efficiency"),
                 row.train_efficiency, 0.1, "scale of training");
}

TEST(JointAnalysis, GivesThePublishedFiguresOfTheRound) {
  const bool is_given = std::getenv("TRAINMARK_HPC_V0_7") != nullptr;
  if (round_folder().empty()) GTEST_SKIP() << published::kAbsent;
  const auto report = analysis::make_report({round_folder()});
  const bool is_whole = report.systems.size() == std::size(kRows);
  std::size_t found = 0;
  for (const auto& system : report.systems) {
    const std::string name = system.path.parent_path().filename();
    for (const Row& row : kRows) {
      if (name != row.system) continue;
      expect_row(system.facts, row);
      EXPECT_TRUE(!is_whole || system.facts.scaling.has_value() == (row.efficiency > 0.0)) << name;
      ++found;
    }
  }
  EXPECT_EQ(found, report.systems.size()) << "a system that the paper does not have";
  EXPECT_GE(found, is_given ? 1u : 4u);
}

}  // namespace
