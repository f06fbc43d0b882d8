// Means, standard deviations and Student's t distribution.
#pragma once

#include <cstddef>
#include <span>

namespace analysis {

/// NaN for no values.
double mean_of(std::span<const double> values);
/// Root of the mean squared distance from the mean (divided by n, not n - 1), in two passes.
double population_stdev(std::span<const double> values);
/// The same divided by n - 1; NaN for fewer than two values.
double sample_stdev(std::span<const double> values);
/// `sorted` (ascending) without the `count` lowest and highest values; empty if no value is left.
std::span<const double> without_extremes(std::span<const double> sorted, std::size_t count);

/// Regularized incomplete beta function I_x(a, b) for a, b > 0 and x in [0, 1]; NaN otherwise.
/// Source: Abramowitz & Stegun 26.5.8 (continued fraction), evaluated as Lentz does; to about
/// 1e-14.
double incomplete_beta(double a, double b, double x);

/// P(T <= t) of Student's t with `freedom` > 0 degrees of freedom; NaN for another freedom.
/// Source: Abramowitz & Stegun 26.7.1.
double student_t_cdf(double t, double freedom);

/// The t that student_t_cdf() maps to `probability`, which lies in (0, 1); NaN otherwise.
double student_t_quantile(double probability, double freedom);

}  // namespace analysis
