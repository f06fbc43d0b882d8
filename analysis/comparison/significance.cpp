// Permutation tests, adjusted p-values and bootstrap intervals.
#include "analysis/comparison/significance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/statistics.h"
#include "runner/base/random.h"

namespace analysis::comparison {
namespace {

/// Number of ways to choose `chosen` of `all`, or kDraws + 1 if there are more than kDraws.
std::int64_t exchanges(std::size_t all, std::size_t chosen) {
  double ways = 1.0;
  for (std::size_t i = 0; i < chosen && ways <= static_cast<double>(kDraws); ++i) {
    ways = ways * static_cast<double>(all - i) / static_cast<double>(i + 1);
  }
  return ways > static_cast<double>(kDraws) ? kDraws + 1
                                            : static_cast<std::int64_t>(std::llround(ways));
}

/// How many exchanges were visited, and whether they were drawn.
struct Looked {
  std::int64_t ways = 0;
  bool drawn = false;
};
/// Calls visit(indices) for the ways to choose `count` of `all`: for each once if there are at most
/// kDraws, else for kDraws drawn ones.
template <class Visit>
Looked for_each_permutation(std::size_t all, std::size_t count, std::uint64_t seed,
                            const Visit& visit) {
  std::vector<std::size_t> order(all);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::span<const std::size_t> chosen(order.data(), count);
  Looked looked;
  looked.drawn = exchanges(all, count) > kDraws;
  if (looked.drawn) {
    base::RandomStream random(seed, base::Purpose::kBootstrap, 1, 0);
    for (; looked.ways < kDraws; ++looked.ways) {
      for (std::size_t i = 0; i < count; ++i) std::swap(order[i], order[i + random.below(all - i)]);
      visit(chosen);
    }
    return looked;
  }
  while (true) {
    visit(chosen);
    ++looked.ways;
    // The next combination in ascending order of its indices.
    std::size_t i = count;
    while (i > 0 && order[i - 1] == all - count + i - 1) --i;
    if (i == 0) return looked;
    ++order[i - 1];
    for (; i < count; ++i) order[i] = order[i - 1] + 1;
  }
}

/// How far the means of one figure are apart if a choice of the measurements is the first list.
class Distance {
 public:
  Distance(std::span<const double> first, std::span<const double> second)
      : all_(first.begin(), first.end()), count_(first.size()) {
    all_.insert(all_.end(), second.begin(), second.end());
    const auto n = static_cast<double>(all_.size());
    mean_ = std::accumulate(all_.begin(), all_.end(), 0.0) / n;
    double squares = 0.0, largest = 0.0;
    for (const double value : all_) {
      squares += (value - mean_) * (value - mean_);
      largest = std::max(largest, std::abs(value));
    }
    deviation_ = std::sqrt(squares / n);
    varies_ = deviation_ > kRounding * largest && std::isfinite(deviation_);
    std::vector<std::size_t> first_ones(count_);
    std::iota(first_ones.begin(), first_ones.end(), std::size_t{0});
    // Minus a tolerance, as summing the same values in another order rounds differently.
    observed_ = varies_ ? of(first_ones) * (1.0 - kRounding) - kRounding : 0.0;
  }
  bool varies() const { return varies_; }
  /// In standard deviations of all values, less the tolerance for rounding.
  double observed() const { return observed_; }
  double of(std::span<const std::size_t> chosen) const {
    double part = 0.0;
    for (const std::size_t index : chosen) part += all_[index] - mean_;
    // The rest sums up to -part.
    const auto n = static_cast<double>(all_.size()), count = static_cast<double>(count_);
    return std::abs(part / count + part / (n - count)) / deviation_;
  }

 private:
  static constexpr double kRounding = 1e-12;
  std::vector<double> all_;
  std::size_t count_;
  double mean_ = 0.0, deviation_ = 0.0, observed_ = 0.0;
  bool varies_ = false;
};

/// The p-value. The observed order counts as one of the drawn ones.
double share_of(std::int64_t extreme, const Looked& looked) {
  const std::int64_t own = looked.drawn ? 1 : 0;
  return static_cast<double>(extreme + own) / static_cast<double>(looked.ways + own);
}

void draw_indices(base::RandomStream& random, std::vector<std::size_t>& indices) {
  for (std::size_t& index : indices) index = random.below(indices.size());
}

/// The fraction outside of the interval at each end.
double tail_fraction(std::size_t first, std::size_t second) {
  const auto n = static_cast<double>(std::min(first, second));
  const auto freedom = static_cast<double>(first + second - 2);
  const double reach = std::sqrt(n / (n - 1.0)) * student_t_quantile(1.0 - kOutside / 2.0, freedom);
  return 0.5 * std::erfc(reach / std::sqrt(2.0));
}

Interval percentiles(std::vector<double> values, double outside) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return kNoInterval;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(
        std::llround(share * static_cast<double>(values.size() - 1)))];
  };
  return {at(outside), at(1.0 - outside)};
}

}  // namespace

double permutation_p_value(std::span<const double> first, std::span<const double> second,
                           std::uint64_t seed) {
  return permutation_p_values({{first.begin(), first.end()}}, {{second.begin(), second.end()}},
                              seed)
      .front()
      .value_or(1.0);
}

std::vector<std::optional<double>> permutation_p_values(
    const std::vector<std::vector<double>>& first, const std::vector<std::vector<double>>& second,
    std::uint64_t seed) {
  std::vector<Distance> figures;
  for (std::size_t i = 0; i < first.size(); ++i) figures.emplace_back(first[i], second[i]);
  std::vector<std::int64_t> extreme(figures.size());
  const std::size_t count = first.front().size();
  const Looked looked = for_each_permutation(
      count + second.front().size(), count, seed, [&](std::span<const std::size_t> chosen) {
        double farthest = 0.0;
        for (const Distance& figure : figures) {
          if (figure.varies()) farthest = std::max(farthest, figure.of(chosen));
        }
        for (std::size_t i = 0; i < figures.size(); ++i) {
          extreme[i] += farthest >= figures[i].observed() ? 1 : 0;
        }
      });
  std::vector<std::optional<double>> p_values(figures.size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (figures[i].varies()) p_values[i] = share_of(extreme[i], looked);
  }
  return p_values;
}

double least_p_value(std::size_t first, std::size_t second) {
  const std::int64_t ways = exchanges(first + second, first);
  if (ways > kDraws) return 1.0 / static_cast<double>(kDraws + 1);
  // With lists of equal size each exchange has a mirror image that is as far apart.
  return (first == second ? 2.0 : 1.0) / static_cast<double>(ways);
}

std::vector<std::optional<double>> holm_adjusted(
    const std::vector<std::optional<double>>& p_values) {
  std::vector<std::size_t> rising;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (p_values[i]) rising.push_back(i);
  }
  std::stable_sort(rising.begin(), rising.end(),
                   [&](std::size_t a, std::size_t b) { return *p_values[a] < *p_values[b]; });
  std::vector<std::optional<double>> adjusted(p_values.size());
  double least = 0.0;
  for (std::size_t i = 0; i < rising.size(); ++i) {
    const auto left = static_cast<double>(rising.size() - i);
    least = std::max(least, std::min(1.0, left * *p_values[rising[i]]));
    adjusted[rising[i]] = least;
  }
  return adjusted;
}

std::vector<Interval> bootstrap_intervals(std::size_t first, std::size_t second,
                                          std::size_t figures, std::uint64_t seed,
                                          std::int64_t draws, const DrawnFigures& compute) {
  if (std::min(first, second) < kFewestForInterval) {
    return std::vector<Interval>(figures, kNoInterval);
  }
  base::RandomStream random(seed, base::Purpose::kBootstrap, 0, 0);
  std::vector<std::size_t> of_first(first), of_second(second);
  std::vector<double> one(figures);
  std::vector<std::vector<double>> drawn(figures);
  for (std::int64_t draw = 0; draw < draws; ++draw) {
    draw_indices(random, of_first);
    draw_indices(random, of_second);
    compute(of_first, of_second, one);
    for (std::size_t i = 0; i < figures; ++i) drawn[i].push_back(one[i]);
  }
  std::vector<Interval> intervals;
  const double outside = tail_fraction(first, second);
  for (std::vector<double>& values : drawn) {
    intervals.push_back(percentiles(std::move(values), outside));
  }
  return intervals;
}

}  // namespace analysis::comparison
