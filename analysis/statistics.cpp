// Means, standard deviations and Student's t distribution.
#include "analysis/statistics.h"

#include <cmath>
#include <limits>

namespace analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double not_zero(double value) {
  constexpr double kTiny = 1e-300;
  return std::abs(value) < kTiny ? kTiny : value;
}

/// The continued fraction of I_x(a, b); converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr int kMostTerms = 10000;
  double numerator_ratio = 1.0;
  double denominator_ratio = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
  double value = denominator_ratio;
  const auto take = [&](double coefficient) {
    denominator_ratio = 1.0 / not_zero(1.0 + coefficient * denominator_ratio);
    numerator_ratio = not_zero(1.0 + coefficient / numerator_ratio);
    const double factor = denominator_ratio * numerator_ratio;
    value *= factor;
    return factor;
  };
  for (int term = 1; term < kMostTerms; ++term) {
    const auto m = static_cast<double>(term);
    take(m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    if (std::abs(take(odd) - 1.0) <= 2.0 * kEpsilon) break;
  }
  return value;
}

/// I_x(a, b), given `rest` = 1 - x, whose digits subtraction would lose for x near 1.
double incomplete_beta(double a, double b, double x, double rest) {
  if (x <= 0.0) return 0.0;
  if (rest <= 0.0) return 1.0;
  const double log_scale =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest);
  const double scale = std::exp(log_scale);
  if (x < (a + 1.0) / (a + b + 2.0)) return scale * beta_fraction(a, b, x) / a;
  return 1.0 - scale * beta_fraction(b, a, rest) / b;
}

/// P(T <= -|t|).
double lower_tail(double t, double freedom) {
  const double square = t * t;
  if (std::isinf(square)) return 0.0;
  const double all = freedom + square;
  return 0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / all, square / all);
}

/// Sum of the squared distances from the mean.
double squared_distances(std::span<const double> values) {
  const double average = mean_of(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - average) * (value - average);
  return squares;
}

}  // namespace

double mean_of(std::span<const double> values) {
  if (values.empty()) return kNaN;
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double population_stdev(std::span<const double> values) {
  return std::sqrt(squared_distances(values) / static_cast<double>(values.size()));
}

double sample_stdev(std::span<const double> values) {
  if (values.size() < 2) return kNaN;
  return std::sqrt(squared_distances(values) / (static_cast<double>(values.size()) - 1.0));
}

std::span<const double> without_extremes(std::span<const double> sorted, std::size_t count) {
  if (sorted.size() <= 2 * count) return {};
  return sorted.subspan(count, sorted.size() - 2 * count);
}

double incomplete_beta(double a, double b, double x) {
  if (!(a > 0.0) || !(b > 0.0) || !(x >= 0.0 && x <= 1.0)) return kNaN;
  return incomplete_beta(a, b, x, 1.0 - x);
}

double student_t_cdf(double t, double freedom) {
  if (!(freedom > 0.0) || std::isnan(t)) return kNaN;
  const double tail = lower_tail(t, freedom);
  return t <= 0.0 ? tail : 1.0 - tail;
}

double student_t_quantile(double probability, double freedom) {
  if (!(probability > 0.0 && probability < 1.0) || !(freedom > 0.0)) return kNaN;
  if (probability == 0.5) return 0.0;
  const double tail = std::fmin(probability, 1.0 - probability);
  double low = 0.0;  // the distance from 0 lies between these two
  double high = 1.0;
  while (lower_tail(high, freedom) > tail && high < 1e150) high *= 2.0;
  while (true) {
    const double middle = low + (high - low) / 2.0;
    if (middle <= low || middle >= high) break;  // neighbours: no double between them
    (lower_tail(middle, freedom) > tail ? low : high) = middle;
  }
  return probability < 0.5 ? -high : high;
}

}  // namespace analysis
