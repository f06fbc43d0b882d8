// Statistics of the reference points, against the figures of MLCommons' RCP checker at 7bbf792.
#include "analysis/submission/reference_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace {

using namespace analysis::submission;

/// The official bisection ends within this of the closed form, in epochs.
constexpr double kStep = 1e-4;
/// The figures below are rounded to four decimals.
constexpr double kRounding = 0.5e-4 + 1e-9;

struct PointFigures {
  const char *usage, *round, *benchmark;
  double batch_size, mean, stdev, least_mean;
  bool pruned;
};

constexpr PointFigures kPointFigures[] = {
    {"hpc", "1.0", "cosmoflow", 64, 18.2778, 0.7141, 17.7586, true},
    {"hpc", "1.0", "cosmoflow", 128, 17.8889, 0.5723, 17.4729, false},
    {"hpc", "1.0", "cosmoflow", 512, 22.8333, 0.8718, 22.1995, false},
    {"hpc", "1.0", "cosmoflow", 1024, 40.0556, 2.1909, 38.4628, false},
    {"hpc", "3.0", "cosmoflow", 32, 7.8710, 0.8210, 7.3217, false},
    {"hpc", "3.0", "cosmoflow", 128, 17.8889, 0.5723, 17.4729, true},
    {"hpc", "1.0", "deepcam", 128, 9, 0, 9, false},
    {"hpc", "1.0", "deepcam", 256, 9, 0, 9, false},
    {"hpc", "1.0", "deepcam", 512, 11.0526, 1.1303, 9.9106, true},
    {"hpc", "1.0", "deepcam", 1024, 13, 0.4472, 12.4450, false},
    {"hpc", "1.0", "deepcam", 2048, 22.625, 1.2207, 21.1102, false},
    {"hpc", "2.0", "deepcam", 128, 6.9444, 0.5895, 6.3088, false},
    {"hpc", "2.0", "deepcam", 256, 9, 0, 9, true},
    {"hpc", "3.0", "oc20", 256, 19.75, 1.2490, 18.2000, false},
    {"hpc", "3.0", "oc20", 1024, 24.375, 1.0770, 23.0384, false},
    {"hpc", "3.0", "oc20", 2048, 32.875, 1.0050, 31.6278, false},
    {"training", "4.0", "resnet", 1632, 35, 1.0847, 33.8023, false},
    {"training", "4.0", "resnet", 3264, 35.1538, 0.7483, 34.3096, false},
    {"training", "4.0", "resnet", 32768, 56, 0.4472, 55.4450, false},
    {"training", "4.0", "resnet", 49152, 68, 0.6325, 67.2151, false},
    {"training", "4.0", "resnet", 67840, 85.8462, 0.6389, 85.1826, false},
    {"training", "2.1", "dlrm", 32768, 1.7563, 0.0269, 1.7228, false},
    {"training", "2.1", "dlrm", 55296, 1.9019, 0.0160, 1.8853, true},
    {"training", "2.1", "dlrm", 71680, 2.0, 0.0100, 1.9895, false},
    {"training", "4.0", "dlrm_dcnv2", 32768, .7071, .0213, .6927, false},
    {"training", "4.0", "dlrm_dcnv2", 55296, .7615, .0518, .7283, false},
    {"training", "4.0", "dlrm_dcnv2", 135168, .9279, .0352, .9062, false},
    {"training", "6.0", "dlrm_dcnv2", 135168, .9279, .0352, .9062, true},
    {"training", "6.0", "dlrm_dcnv2", 160000, .9583, .0363, .9319, false},
    {"training", "5.0", "bert", 448, 2414421.3333, 197392.4765, 2274732.0290, false},
    {"training", "5.0", "bert", 12288, 4465066.6667, 88564.0454, 4400681.9259, false},
    {"training", "5.0", "bert", 8704, 4273706.6667, 134042.4043, 4176259.8370, true},
    {"training", "4.1", "gnn", 4096, 0.7889, 0.0339, 0.7642, false},
    {"training", "4.1", "gnn", 65536, 1.1861, 0.0421, 1.1555, true},
    {"training", "4.1", "gpt3", 1536, 1195376640, 45174036.5824, 1076517411.4733, true},
    {"training", "4.1", "gpt3", 6144, 1409286144, 0, 1409286144, false},
    {"training", "4.1", "gpt3", 8192, 1623195648, 23726566.4061, 1560767722.7588, false},
    {"training", "2.0", "maskrcnn", 8, 12.75, 0.4583, 12.1813, false},
    {"training", "2.0", "maskrcnn", 64, 14, 1.8, 11.7662, true},
    {"training", "5.1", "retinanet", 320, 4.1111, 0.3571, 3.7261, false},
    {"training", "5.1", "retinanet", 1280, 6.6667, 0.4770, 6.1524, true},
    {"training", "5.1", "rgat", 262144, 2.4583, 0.1141, 2.3754, false},
    {"training", "1.1", "rnnt", 1024, 58.4444, 2.3553, 56.7322, true},
    {"training", "1.1", "rnnt", 6144, 95.5556, 6.2682, 90.9987, false},
    {"training", "1.0", "ssd", 2048, 65.0862, 0.8975, 64.1981, true},
    {"training", "3.1", "ssd", 2048, 7.8889, 0.4359, 7.4189, false},
    {"training", "3.1", "unet3d", 32, 381770.6667, 93164.2542, 351904.9153, true},
    {"training", "3.1", "unet3d", 84, 386800, 69491.5706, 364279.7258, false},
    {"training", "4.0", "unet3d", 56, 357404.4444, 79525.4284, 334052.9146, false},
    {"training", "3.1", "stable_diffusion", 2048, 1954.5455, 165.4293, 1820.8246, false},
    {"training", "5.0", "stable_diffusion", 512, 2104888.8889, 275720.4381, 1904444.2407, true},
    {"training", "5.0", "llama31_405b", 2304, 380160, 21722.3203, 323005.5275 - 46080, false},
    {"training", "6.1", "qwen35_397b_grpo", 512, 5120, 0, 5120, false}};

ConvergencePoint point_at(const ReferenceCurve& curve, double batch_size) {
  for (const ConvergencePoint& point : curve.points()) {
    if (point.batch_size == batch_size) return point;
  }
  ADD_FAILURE() << "no point at " << batch_size;
  return {};
}

ReferenceSet set_of(const char* usage, const char* round, const char* benchmark) {
  return reference_points(usage, round, benchmark).value();
}

TEST(ReferenceCurve, HasTheFiguresOfTheOfficialChecker) {
  for (const PointFigures& row : kPointFigures) {
    const ReferenceCurve curve(set_of(row.usage, row.round, row.benchmark), RcpEra::kHead);
    const ConvergencePoint point = point_at(curve, row.batch_size);
    const std::string where =
        std::string(row.benchmark) + ' ' + row.round + ' ' + std::to_string(row.batch_size);
    EXPECT_NEAR(point.test.mean, row.mean, kRounding) << where;
    EXPECT_NEAR(point.test.stdev, row.stdev, kRounding) << where;
    EXPECT_NEAR(point.least_mean, row.least_mean, kRounding + kStep) << where;
    EXPECT_EQ(point.pruned, row.pruned) << where;
  }
}

TEST(ReferenceCurve, BisectionAgreesWithTheClosedFormForEveryPublishedPoint) {
  int points = 0;
  for (const ReferenceSet& set : all_reference_points()) {
    for (const RcpEraFacts& row : rcp_eras()) {
      const ReferenceCurve curve(set, row.era);
      for (const ConvergencePoint& point : curve.points()) {
        // With the spread of gpt3 at 3072 in round 4.1 any mean passes.
        const double closed = std::max(0.0, point.test.mean - point.test.half_width());
        EXPECT_NEAR(point.least_mean + set.leeway, closed, kStep)
            << set.benchmark << ' ' << set.round << ' ' << point.batch_size;
        ++points;
      }
    }
  }
  EXPECT_GT(points, 400);
}

TEST(MeanTest, LeavesFivePerCentBelowItsLowerEnd) {
  const MeanTest test{20.0, 1.5, 18, 8};
  EXPECT_NEAR(test.p_value(20.0), 0.5, 1e-12);
  EXPECT_NEAR(test.p_value(20.0 - test.half_width()), 0.05, 1e-9);
  EXPECT_NEAR(test.p_value(20.0 + test.half_width()), 0.95, 1e-9);
  // t at 0.95 with 24 degrees of freedom is 1.7109 in published tables.
  EXPECT_NEAR(test.half_width(), 1.7109 * 1.5 * std::sqrt(1.0 / 18 + 1.0 / 8), 1e-4);
}

TEST(MeanTest, WithoutSpreadAllowsNothingBelowTheMean) {
  const MeanTest test{9.0, 0.0, 8, 3};
  EXPECT_DOUBLE_EQ(test.least_mean(), 9.0);
  EXPECT_DOUBLE_EQ(test.half_width(), 0.0);
  EXPECT_DOUBLE_EQ(test.p_value(9.0), 1.0);
  EXPECT_DOUBLE_EQ(test.p_value(8.999), 0.0);
}

TEST(ReferenceCurve, DeviatesByTheCountedRunsAloneBeforeAugust2024) {
  const ReferenceSet set = set_of("hpc", "3.0", "oc20");
  for (const RcpEra era : {RcpEra::k2024a, RcpEra::k2022, RcpEra::kFirstRounds}) {
    const ConvergencePoint old = point_at(ReferenceCurve(set, era), 256);
    EXPECT_LT(old.test.stdev, 1.2490 - 0.1);
    EXPECT_DOUBLE_EQ(old.test.mean, 19.75);
    EXPECT_GT(old.least_mean, 18.2 + 0.1) << "less spread forgives less";
  }
}

/// A point without spread: six runs that all converge after `mean`.
ReferencePoint flat(double batch_size, double mean) {
  return {batch_size, {mean, mean, mean, mean, mean, mean}};
}

std::vector<double> kept(const ReferenceCurve& curve) {
  std::vector<double> sizes;
  for (const ConvergencePoint& point : curve.points(RcpPoints::kPruned)) {
    sizes.push_back(point.batch_size);
  }
  return sizes;
}

ReferenceSet made_set(std::vector<ReferencePoint> points) {
  ReferenceSet set;
  set.runs_required = 5;
  set.unit = "epochs";
  set.points = std::move(points);
  return set;
}

TEST(ReferenceCurve, PrunesBelowTheFastestAndAboveTheLineOfNeighbours) {
  const ReferenceSet set =
      made_set({flat(10, 9), flat(20, 8), flat(30, 9.5), flat(40, 9), flat(50, 14)});
  const ReferenceCurve curve(set, RcpEra::kHead);
  EXPECT_THAT(kept(curve), testing::ElementsAre(20, 40, 50));
  EXPECT_EQ(curve.points().size(), 5u);
  EXPECT_EQ(curve.points(RcpPoints::kAll).size(), 5u);
}

TEST(ReferenceCurve, PrunesWithoutGoingBackAsTheOfficialCheckerDoes) {
  // Once 30 is pruned, 20 is above the line from 10 to 40; it remains.
  const ReferenceSet set = made_set({flat(10, 5), flat(20, 6.9), flat(30, 9), flat(40, 10)});
  EXPECT_THAT(kept(ReferenceCurve(set, RcpEra::kHead)), testing::ElementsAre(10, 20, 40));
}

TEST(ReferenceCurve, PrunesNothingInTheFirstRounds) {
  const ReferenceSet set = made_set({flat(10, 9), flat(20, 8), flat(30, 9.5), flat(40, 9)});
  EXPECT_THAT(kept(ReferenceCurve(set, RcpEra::kFirstRounds)),
              testing::ElementsAre(10, 20, 30, 40));
}

TEST(ReferenceCurve, PrunesByTheLeastMeanUntilMay2024) {
  // The means rise, but the wide spread at 20 gives it a smaller least mean than 10 has.
  const ReferenceSet set = made_set({flat(10, 9), {20, {5, 7, 8, 10, 11, 13}}, flat(30, 12)});
  EXPECT_THAT(kept(ReferenceCurve(set, RcpEra::k2022)), testing::ElementsAre(20, 30));
  EXPECT_THAT(kept(ReferenceCurve(set, RcpEra::k2024a)), testing::ElementsAre(10, 20, 30));
}

TEST(ReferenceCurve, InterpolatesMeanAndDeviationAndCountsTwiceTheRequiredRuns) {
  const ReferenceCurve curve(set_of("hpc", "3.0", "oc20"), RcpEra::kHead);
  const ConvergencePoint middle = curve.between(curve.points()[0], curve.points()[1], 640);
  EXPECT_DOUBLE_EQ(middle.test.mean, (19.75 + 24.375) / 2.0);
  EXPECT_NEAR(middle.test.stdev, (1.2490 + 1.0770) / 2.0, kRounding);
  EXPECT_EQ(middle.test.reference_runs, 10);
  EXPECT_EQ(middle.test.submission_runs, 3);
}

TEST(RcpEra, IsFoundByItsName) {
  for (const RcpEraFacts& row : rcp_eras()) {
    ASSERT_NE(find_rcp_era(row.name), nullptr);
    EXPECT_EQ(find_rcp_era(row.name)->era, row.era);
    EXPECT_FALSE(row.meaning.empty());
  }
  EXPECT_EQ(find_rcp_era("2023"), nullptr);
}

TEST(ReferenceCurve, EndsItsSearchWhereNumbersAreFarApart) {
  const MeanTest test{2.5e13, 1e12, 8, 3};
  EXPECT_LT(test.least_mean(), test.mean);
  EXPECT_GT(test.p_value(test.least_mean()), 0.04);
}

}  // namespace
