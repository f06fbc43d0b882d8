// Whether two lists of measurements differ by more than chance, and by how much: permutation tests,
// adjusted p-values, bootstrap intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace analysis::comparison {

/// A difference is distinguishable if its p-value is smaller. Of 1,000 pairs that do not differ, 40
/// are then expected to be called different, and rarely more than 50.
inline constexpr double kLevel = 0.04;
/// The fraction outside of intervals, half of it at each end.
inline constexpr double kOutside = 0.05;
/// With fewer values on a side there is no interval, as bootstrap samples would be too similar.
inline constexpr std::size_t kFewestForInterval = 4;
/// Permutation tests visit all exchanges if there are at most this many, else this many drawn ones.
/// Also the default number of bootstrap draws.
inline constexpr std::int64_t kDraws = 20000;

/// p-value of a permutation test: the fraction of exchanges of values between the two lists after
/// which the means are at least as far apart as before. Exact if there are at most kDraws
/// exchanges, else estimated from kDraws drawn ones. Deterministic for a given seed. 1 if all
/// values are equal. REQUIRES: neither list is empty.
double permutation_p_value(std::span<const double> first, std::span<const double> second,
                           std::uint64_t seed);

/// p-values of several figures of the same measurements, adjusted for each other: the fraction of
/// exchanges of whole measurements after which any figure is at least as far apart as this one is
/// now (in standard deviations of all its values). If no figure differs, the probability that any
/// p-value is below kLevel is at most kLevel. `first` and `second` have a list for each figure; all
/// lists of a side have the same length. Absent for figures whose values are all equal, or not all
/// finite. Source: Westfall & Young, "Resampling-Based Multiple Testing", Wiley 1993 (single-step
/// maxT).
std::vector<std::optional<double>> permutation_p_values(
    const std::vector<std::vector<double>>& first, const std::vector<std::vector<double>>& second,
    std::uint64_t seed);

/// The smallest p-value that lists of these sizes can have. If it is not below kLevel, no
/// difference can be found.
double least_p_value(std::size_t first, std::size_t second);

/// Adjusts the p-values of several comparisons: if there are no differences at all, the probability
/// that any adjusted p-value is below kLevel is at most kLevel. Absent ones stay absent and are not
/// counted. Source: Holm, "A simple sequentially rejective multiple test procedure",
/// Scand. J. Stat. 6, 1979.
std::vector<std::optional<double>> holm_adjusted(
    const std::vector<std::optional<double>>& p_values);

struct Interval {
  double low = 0.0, high = 0.0;
};
/// For figures without an interval: both ends are NaN.
inline constexpr Interval kNoInterval = {std::numeric_limits<double>::quiet_NaN(),
                                         std::numeric_limits<double>::quiet_NaN()};

/// Indices drawn with replacement from lists of `first` and `second` values.
using Drawn = std::span<const std::size_t>;
/// Computes `figures` for one draw from both lists.
using DrawnFigures = std::function<void(Drawn first, Drawn second, std::span<double> figures)>;

/// 95 % bootstrap intervals: percentiles of each figure over `draws` draws. The percentiles are 2.5
/// and 97.5 for many values, and further out for few, as samples drawn from few values vary too
/// little. Draws in which a figure is not finite are left out of its interval. The interval is NaN
/// if no draw is left, or with fewer than kFewestForInterval values on a side. Source: Hesterberg,
/// "What teachers should know about the bootstrap", Am. Stat. 69, 2015 (expanded percentile
/// interval), with n - 2 degrees of freedom for both lists together.
std::vector<Interval> bootstrap_intervals(std::size_t first, std::size_t second,
                                          std::size_t figures, std::uint64_t seed,
                                          std::int64_t draws, const DrawnFigures& compute);

}  // namespace analysis::comparison
