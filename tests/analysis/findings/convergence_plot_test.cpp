// The data of plots of reference points.
#include "analysis/findings/convergence_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report/made_plots.h"

namespace {

using namespace analysis;
using analysis::submission::RcpOutcome;
using analysis::submission::RcpResult;
using analysis::submission::ReferenceCurve;

/// The value of a plotted line at one of its batch sizes.
double value_at(const PlotLine& line, double batch_size) {
  for (const PlotPoint& place : line) {
    if (std::abs(place.batch_size - batch_size) < 1e-6 * batch_size) return place.value;
  }
  ADD_FAILURE() << "nothing at " << batch_size;
  return 0.0;
}

TEST(ConvergencePlot, LinesAreWhatTheTestComparesWith) {
  const ConvergencePlot plot = golden::plot_of();
  const ReferenceCurve reference(golden::three_points(), {});
  const auto& points = reference.points();
  ASSERT_TRUE(points[1].pruned);
  EXPECT_DOUBLE_EQ(value_at(plot.curve, 256), 20.0);
  EXPECT_DOUBLE_EQ(value_at(plot.curve, 1024), 30.0);
  const auto between = reference.between(points[0], points[2], 512);
  EXPECT_NEAR(value_at(plot.curve, 512), between.test.mean, 1e-9);
  ASSERT_EQ(plot.limits.size(), 2u) << "below the smallest, and from point to point";
  EXPECT_EQ(plot.limits[0].front().value, points[0].least_mean);
  EXPECT_EQ(plot.limits[0].back().value, points[0].least_mean);
  EXPECT_EQ(plot.limits[0].front().batch_size, plot.batch_sizes.low());
  EXPECT_NEAR(value_at(plot.limits[1], 512), between.least_mean, 2e-4);
}

TEST(ConvergencePlot, TakesPrunedPointsWhereAllAreAskedFor) {
  const ConvergencePlot plot = convergence_plot(
      golden::three_points(), {.points = analysis::submission::RcpPoints::kAll}, {});
  EXPECT_DOUBLE_EQ(value_at(plot.curve, 512), 40.0);
  for (const auto& point : plot.points) EXPECT_FALSE(point.pruned);
}

TEST(ConvergencePlot, HoldsEverythingWithinItsScales) {
  const ConvergencePlot plot = golden::plot_of(golden::four_sets());
  const auto within = [](double at) { return at >= 0.0 && at <= 1.0; };
  for (const PlotLine& limit : plot.limits) {
    for (const PlotPoint& place : limit) {
      EXPECT_TRUE(within(plot.batch_sizes.at(place.batch_size)));
      EXPECT_TRUE(within(plot.values.at(place.value)));
    }
  }
  for (const PlottedSet& set : plot.sets) {
    if (!set.place) continue;
    EXPECT_TRUE(within(plot.batch_sizes.at(set.place->batch_size)));
    EXPECT_TRUE(within(plot.values.at(set.place->value)));
  }
}

TEST(ConvergencePlot, LeavesOutWhatNoScaleHolds) {
  const ConvergencePlot plot = golden::hostile_plot();
  ASSERT_EQ(plot.sets.size(), 4u);
  EXPECT_TRUE(plot.sets[0].place);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_FALSE(plot.sets[i].place) << plot.sets[i].name;
    EXPECT_EQ(plot.sets[i].compared_with, "cannot be drawn");
  }
}

RcpResult result_of(double batch_size, double mean) {
  std::vector<analysis::submission::RcpRun> runs(5);
  for (auto& run : runs) {
    run.benchmark = "oc20";
    run.batch_size = batch_size;
    run.converged_after = mean;
  }
  return test_convergence(runs, golden::three_points());
}

TEST(ConvergencePlot, TellsWhatASetWasComparedWith) {
  const PlottedSet found = plotted_set("x", result_of(256, 21));
  EXPECT_EQ(found.compared_with, "256");
  EXPECT_EQ(found.verdict, PlottedSet::Verdict::kPasses);
  EXPECT_EQ(found.place->value, 21.0);
  EXPECT_EQ(plotted_set("x", result_of(512, 10)).compared_with, "256 to 1024");
  EXPECT_EQ(plotted_set("x", result_of(512, 10)).verdict, PlottedSet::Verdict::kFails);
  EXPECT_EQ(plotted_set("x", result_of(128, 30)).compared_with, "256, the smallest");
  EXPECT_EQ(plotted_set("x", result_of(2048, 60)).compared_with, "no point there");
  RcpResult none = result_of(256, 21);
  none.outcome = RcpOutcome::kInsufficientConvergence;
  none.submission_mean.reset();
  EXPECT_FALSE(plotted_set("x", none).place);
  EXPECT_EQ(plotted_set("x", none).compared_with, "insufficient convergence");
}

TEST(ConvergencePlot, GroupsSetsByBenchmarkAndRound) {
  CheckReport report;
  const auto add = [&](const char* name, const char* benchmark, const char* round) {
    CheckedSet set{name, name, {}, result_of(256, 21)};
    set.rcp->points->benchmark = benchmark;
    set.rcp->points->round = round;
    report.sets.push_back(set);
  };
  add("1", "oc20", "3.0");
  add("2", "deepcam", "3.0");
  add("3", "oc20", "3.0");
  add("4", "oc20", "2.0");
  report.sets.push_back({"not tested", "x", {}, {}});
  const auto plots = convergence_plots(report, {});
  ASSERT_EQ(plots.size(), 3u);
  EXPECT_EQ(plots[0].benchmark, "deepcam");
  EXPECT_EQ(plots[1].sets[0].name, "4");
  ASSERT_EQ(plots[2].sets.size(), 2u);
  EXPECT_EQ(plots[2].sets[1].name, "3");
}

}  // namespace
