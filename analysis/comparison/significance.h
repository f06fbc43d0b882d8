// Whether two lists of measurements differ by more than chance, and within which bounds.
// Hides exchanges, draws and quantiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace analysis::comparison {

/// What is called a difference has a smaller p-value. Of 1,000 pairs that do not differ, 40 are
/// then expected to be called different, and 50 are rarely exceeded.
inline constexpr double kLevel = 0.04;
/// Intervals leave out so much, half of it on each side.
inline constexpr double kOutside = 0.05;
/// Of fewer values on a side there is no interval: drawn ones would be too much alike.
inline constexpr std::size_t kFewestForInterval = 4;
/// Up to so many exchanges all are looked at; else so many are drawn. Also draws of a bootstrap.
inline constexpr std::int64_t kDraws = 20000;

/// How often values that change places at random between the two lists lead to means as far apart
/// as theirs, or further: exact where there are at most kDraws ways, else of so many drawn ones.
/// Neither list is empty. The same for the same seed.
double exchange_p_value(std::span<const double> first, std::span<const double> second,
                        std::uint64_t seed);

/// p-values of several figures of the same measurements, told together: how often, over the same
/// exchanges of whole measurements, any of the figures is as far apart as this one is (in standard
/// deviations of all its values). So calling those below kLevel different errs in at most that
/// share of the cases in which none differs. `first` and `second`: a list for each figure, each as
/// long as the others of its side. Absent for figures that have one value throughout, or no finite
/// one. Source: Westfall & Young, "Resampling-Based Multiple Testing", Wiley 1993 (single-step
/// maxT).
std::vector<std::optional<double>> exchange_p_values(const std::vector<std::vector<double>>& first,
                                                     const std::vector<std::vector<double>>& second,
                                                     std::uint64_t seed);

/// The smallest p-value that lists of these sizes can have: where it is not below kLevel, no
/// difference is ever found.
double least_p_value(std::size_t first, std::size_t second);

/// p-values of several questions such that calling all of them below kLevel a difference errs
/// in at most that share of the cases in which there are none at all. Absent ones stay absent and
/// count for nothing. Source: Holm, "A simple sequentially rejective multiple test procedure",
/// Scand. J. Stat. 6, 1979.
std::vector<std::optional<double>> holm_adjusted(
    const std::vector<std::optional<double>>& p_values);

struct Interval {
  double low = 0.0, high = 0.0;
};

/// Indices drawn with replacement from lists of `first` and `second` values.
using Drawn = std::span<const std::size_t>;
/// Gives `figures` numbers for one draw of both lists.
using DrawnFigures = std::function<void(Drawn first, Drawn second, std::span<double> figures)>;

/// Bootstrap intervals of 95 %: percentiles of each figure over `draws` draws, 2.5 and 97.5 for
/// many values and further out for few, which vary less when drawn than they do. Draws in which a
/// figure is no finite number are left out of it; without any other one, or with fewer than
/// kFewestForInterval values on a side, its interval is NaN.
/// Source: Hesterberg, "What teachers should know about the bootstrap", Am. Stat. 69, 2015
/// (expanded percentile interval), with n - 2 degrees of freedom for both lists together.
std::vector<Interval> bootstrap_intervals(std::size_t first, std::size_t second,
                                          std::size_t figures, std::uint64_t seed,
                                          std::int64_t draws, const DrawnFigures& compute);

}  // namespace analysis::comparison
