// Predicts when a run in progress reaches its target.
#include "analysis/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/statistics.h"
#include "runner/base/printable.h"

namespace analysis {
namespace {

constexpr double kProbability = 0.975;  ///< below the upper end of the interval
constexpr std::size_t kFewestPoints = 3, kMostPoints = 8;

/// Mean of the earlier runs, and the prediction interval of a normal distribution.
Outlook by_earlier_runs(const Standing& standing, std::span<const EarlierRun> earlier) {
  const auto pace = standing.pace_s();
  std::vector<double> ends_s;
  for (const EarlierRun& run : earlier) {
    const double left = run.epochs_to_target - standing.epochs_done;
    ends_s.push_back(pace ? standing.elapsed_s + left * *pace : run.ttt_s);
  }
  const auto n = static_cast<double>(ends_s.size());
  Outlook outlook;
  outlook.basis = base::counted(std::ssize(ends_s), "earlier run") + " of this folder";
  outlook.end_s = mean_of(ends_s);
  if (ends_s.size() < 2) return outlook;
  const double half =
      student_t_quantile(kProbability, n - 1.0) * sample_stdev(ends_s) * std::sqrt(1.0 + 1.0 / n);
  outlook.low_s = std::max(standing.elapsed_s, outlook.end_s - half);
  outlook.high_s = outlook.end_s + half;
  return outlook;
}

struct Point {
  double time_s, quality;
};

std::vector<Point> last_points(const RunFacts& facts) {
  std::vector<Point> points;
  for (const Evaluation& one : facts.evaluations) {
    if (std::isfinite(one.quality)) points.push_back({one.time_s, one.quality});
  }
  if (points.size() > kMostPoints) points.erase(points.begin(), points.end() - kMostPoints);
  return points;
}

/// A straight line by least squares, and where it meets `target`.
std::optional<Outlook> by_curve(const std::vector<Point>& points, double target, double elapsed_s) {
  const auto n = static_cast<double>(points.size());
  if (points.size() < kFewestPoints) return std::nullopt;
  double x = 0.0, y = 0.0;
  for (const Point& point : points) {
    x += point.time_s / n;
    y += point.quality / n;
  }
  double xx = 0.0, xy = 0.0;
  for (const Point& point : points) {
    xx += (point.time_s - x) * (point.time_s - x);
    xy += (point.time_s - x) * (point.quality - y);
  }
  if (!(xx > 0.0) || xy == 0.0) return std::nullopt;
  const double slope = xy / xx;
  double residual = 0.0;
  for (const Point& point : points) {
    residual += std::pow(point.quality - y - slope * (point.time_s - x), 2.0);
  }
  const auto meets = [&](double at_slope) { return x + (target - y) / at_slope; };
  if (!(meets(slope) > points.back().time_s)) return std::nullopt;  // not towards the target
  Outlook outlook;
  outlook.basis = fmt::format("its last {} evaluations", points.size());
  outlook.end_s = std::max(elapsed_s, meets(slope));
  const double error =
      student_t_quantile(kProbability, n - 2.0) * std::sqrt(residual / (n - 2.0) / xx);
  const double outwards = slope > 0.0 ? error : -error;
  outlook.low_s = std::max(elapsed_s, meets(slope + outwards));
  if ((slope - outwards) * slope > 0.0) {
    outlook.high_s = std::max(elapsed_s, meets(slope - outwards));
  }
  return outlook;
}

}  // namespace

std::optional<double> Standing::pace_s() const {
  const double epochs = epochs_done - epochs_before;
  if (!(epochs > 0.0)) return std::nullopt;
  return (elapsed_s - staging_s) / epochs;
}

std::optional<Outlook> outlook_of(const RunFacts& facts, const Standing& standing,
                                  std::span<const EarlierRun> earlier) {
  const bool is_comparable = !facts.resumed || standing.pace_s();
  if (!earlier.empty() && is_comparable) {
    const Outlook outlook = by_earlier_runs(standing, earlier);
    if (standing.elapsed_s < outlook.high_s.value_or(outlook.end_s)) return outlook;
  }
  if (!facts.target_value()) return std::nullopt;
  return by_curve(last_points(facts), *facts.target_value(), standing.elapsed_s);
}

}  // namespace analysis
