// Estimates how often a set that converges like the reference passes the RCP test.
#include "analysis/submission/bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/statistics.h"
#include "runner/base/error.h"
#include "runner/base/random.h"

namespace analysis::submission {
namespace {

constexpr std::array kShares = {0.01, 0.05, 0.50, 0.95, 0.99};
constexpr double kMostBins = 24.0;
/// Means whose relative difference is smaller are equal up to the order of summation.
constexpr double kRounding = 1e-9;

std::size_t index_of(const ReferenceSet& set, double batch_size) {
  std::string sizes;
  for (std::size_t i = 0; i < set.points.size(); ++i) {
    if (set.points[i].batch_size == batch_size) return i;
    sizes += fmt::format("{}{:.15g}", i == 0 ? "" : ", ", set.points[i].batch_size);
  }
  throw base::ConfigError(
      fmt::format("--bootstrap: {} has no reference runs at batch size {:.15g}, and an "
                  "interpolated point has none to draw; there are some at {}",
                  set.benchmark, batch_size, sizes));
}

/// The mean of one set of runs drawn with replacement.
double mean_of_draw(const std::vector<double>& runs, const ReferenceSet& set,
                    base::RandomStream& stream) {
  std::vector<double> drawn;
  for (std::int64_t i = 0; i < set.runs_required; ++i) {
    drawn.push_back(runs[stream.below(runs.size())]);
  }
  std::sort(drawn.begin(), drawn.end());
  return mean_of(without_extremes(drawn, set.dropped_each_end));
}

/// Means have a step, that of the epochs in logs. A bin is a whole number of steps wide; else some
/// bins would cover more of the possible means than others.
std::vector<Bootstrap::Bin> histogram_of(const std::vector<double>& sorted, double least) {
  const double first = sorted.front();
  const double span = sorted.back() - first;
  double step = std::abs(first);  // if all means are equal
  if (span > kRounding * std::abs(first)) step = span;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const double between = sorted[i] - sorted[i - 1];
    if (between > kRounding * std::abs(first)) step = std::min(step, between);
  }
  const double width = step * std::ceil((std::round(span / step) + 1.0) / kMostBins);
  std::vector<Bootstrap::Bin> bins;
  for (const double mean : sorted) {
    const auto bin = static_cast<std::size_t>((mean - first) / width + kRounding);
    while (bins.size() <= bin) {
      const double from = first + static_cast<double>(bins.size()) * width;
      bins.push_back({from, from + width, 0, 0});
    }
    ++bins[bin].sets;
    if (mean < least) ++bins[bin].failing;
  }
  return bins;
}

}  // namespace

double Bootstrap::standard_error() const {
  return std::sqrt(passing() * failing() / static_cast<double>(sets));
}

Bootstrap bootstrap(const ReferenceSet& set, RcpEra era, double batch_size, std::uint64_t seed) {
  const std::size_t index = index_of(set, batch_size);
  const std::vector<double>& runs = set.points[index].converged_after;
  Bootstrap result;
  result.point = ReferenceCurve(set, era).points()[index];
  result.reference_runs = static_cast<std::int64_t>(runs.size());
  result.runs_per_set = set.runs_required;
  result.seed = seed;
  std::vector<double> means;
  for (std::int64_t i = 0; i < result.sets; ++i) {
    base::RandomStream stream(seed, base::Purpose::kBootstrap, 0, static_cast<std::uint64_t>(i));
    means.push_back(mean_of_draw(runs, set, stream));
  }
  std::sort(means.begin(), means.end());
  if (!std::isfinite(means.back())) {
    throw base::ConfigError(fmt::format(
        "--bootstrap: the reference's runs at batch size {:.15g} are too long to be added up",
        batch_size));
  }
  result.mean = mean_of(means);
  result.stdev = population_stdev(means);
  for (std::size_t i = 0; i < kShares.size(); ++i) {
    const double rank = std::ceil(kShares[i] * static_cast<double>(result.sets) - kRounding);
    result.quantiles[i] = {kShares[i], means[static_cast<std::size_t>(rank) - 1]};
  }
  const double least = result.point.least_mean;
  result.failing_sets = std::lower_bound(means.begin(), means.end(), least) - means.begin();
  result.histogram = histogram_of(means, least);
  return result;
}

}  // namespace analysis::submission
