// How fast the reference converges at each batch size, and how fast a submission may.
#include "analysis/submission/reference_curve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/facts_of_log.h"
#include "analysis/statistics.h"

namespace analysis::submission {
namespace {

constexpr double kAlpha = 0.05;
/// The official checker stops its bisection at this width, in any unit.
constexpr double kBisectionStep = 1e-4;
/// Runs of a submission that the t-test does not count. The official checker subtracts two from the
/// required runs of every benchmark, even of unet3d, whose mean leaves out eight.
constexpr std::int64_t kRunsNotCounted = 2;

constexpr std::array kEras = {
    RcpEraFacts{RcpEra::kHead, "head",
                "since 2024-07-31 (52245a0): deviation of all runs, pruning by mean, scores "
                "normalised"},
    RcpEraFacts{RcpEra::k2024a, "2024a",
                "2024-05-20 (39fc7a0) to 2024-07-31: deviation without fastest and slowest run, "
                "pruning by mean, scores normalised"},
    RcpEraFacts{RcpEra::k2022, "2022",
                "2022-03-16 (4f0a210) to 2024-05-20: deviation without fastest and slowest run, "
                "pruning by least mean, scores normalised since 2022-10-03 (371df66)"},
    RcpEraFacts{RcpEra::kFirstRounds, "1.0",
                "rounds 1.0 and 1.1 of 2021, HPC 1.0 too: deviation without fastest and slowest "
                "run, no pruning, no normalisation, and no bypass for a missing point"}};

double line_at(double x, double x0, double x1, double y0, double y1) {
  return (y1 - y0) / (x1 - x0) * (x - x0) + y0;
}

ConvergencePoint make_point(double batch_size, const MeanTest& test, double leeway) {
  return {batch_size, test, test.least_mean() - leeway, false};
}

ConvergencePoint point_of(const ReferencePoint& reference, const ReferenceSet& set, RcpEra era) {
  const std::span<const double> all = reference.converged_after;
  const std::span<const double> counted = without_extremes(all, set.dropped_each_end);
  MeanTest test;
  test.mean = mean_of(counted);
  test.stdev = population_stdev(era == RcpEra::kHead ? all : counted);
  test.reference_runs = static_cast<std::int64_t>(counted.size());
  test.submission_runs = set.runs_required - kRunsNotCounted;
  return make_point(reference.batch_size, test, set.leeway);
}

double standard_error(const MeanTest& test) {
  return test.stdev * std::sqrt(1.0 / static_cast<double>(test.reference_runs) +
                                1.0 / static_cast<double>(test.submission_runs));
}

double freedom(const MeanTest& test) {
  return static_cast<double>(test.reference_runs + test.submission_runs - 2);
}

}  // namespace

std::span<const RcpEraFacts> rcp_eras() { return kEras; }

const RcpEraFacts& facts_of(RcpEra era) {
  return *std::find_if(kEras.begin(), kEras.end(),
                       [&](const RcpEraFacts& facts) { return facts.era == era; });
}

const RcpEraFacts* find_rcp_era(std::string_view name) {
  for (const RcpEraFacts& row : kEras) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

double MeanTest::p_value(double submission_mean) const {
  if (stdev == 0.0) return submission_mean < mean ? 0.0 : 1.0;
  return student_t_cdf((submission_mean - mean) / standard_error(*this), freedom(*this));
}

double MeanTest::half_width() const {
  if (stdev == 0.0) return 0.0;
  return student_t_quantile(1.0 - kAlpha, freedom(*this)) * standard_error(*this);
}

double MeanTest::least_mean() const {
  if (stdev == 0.0) return mean;
  double low = 0.0;
  double high = mean;
  double middle = (low + high) / 2.0;
  // For huge means, adjacent doubles are further apart than kBisectionStep.
  while (high - low > kBisectionStep && middle > low && middle < high) {
    (p_value(middle) > kAlpha ? high : low) = middle;
    middle = (low + high) / 2.0;
  }
  return middle;
}

ReferenceCurve::ReferenceCurve(const ReferenceSet& set, RcpEra era)
    : runs_required_(set.runs_required), leeway_(set.leeway) {
  for (const ReferencePoint& point : set.points) points_.push_back(point_of(point, set, era));
  if (era != RcpEra::kFirstRounds) prune(era);
}

std::vector<ConvergencePoint> ReferenceCurve::points(RcpPoints which) const {
  std::vector<ConvergencePoint> chosen;
  for (const ConvergencePoint& point : points_) {
    if (which == RcpPoints::kAll || !point.pruned) chosen.push_back(point);
  }
  return chosen;
}

ConvergencePoint ReferenceCurve::between(const ConvergencePoint& low, const ConvergencePoint& high,
                                         double batch_size) const {
  const auto at = [&](double y0, double y1) {
    return line_at(batch_size, low.batch_size, high.batch_size, y0, y1);
  };
  MeanTest test;
  test.mean = at(low.test.mean, high.test.mean);
  test.stdev = at(low.test.stdev, high.test.stdev);
  test.reference_runs = 2 * runs_required_;
  test.submission_runs = low.test.submission_runs;
  return make_point(batch_size, test, leeway_);
}

void ReferenceCurve::prune(RcpEra era) {
  const auto speed = [era](const ConvergencePoint& point) {
    return era == RcpEra::k2022 ? point.least_mean : point.test.mean;
  };
  const auto by_speed = [&](const auto& a, const auto& b) { return speed(a) < speed(b); };
  const auto fastest = std::min_element(points_.begin(), points_.end(), by_speed);
  for (auto point = points_.begin(); point != fastest; ++point) point->pruned = true;

  std::vector<ConvergencePoint*> kept;
  for (auto point = fastest; point != points_.end(); ++point) kept.push_back(&*point);
  // After a point is removed, the scan does not go back, so an earlier point may remain above the
  // line of its new neighbours. The official checker does the same.
  for (std::size_t i = 1; i + 1 < kept.size();) {
    const ConvergencePoint line = between(*kept[i - 1], *kept[i + 1], kept[i]->batch_size);
    if (speed(*kept[i]) > speed(line)) {
      kept[i]->pruned = true;
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

}  // namespace analysis::submission
