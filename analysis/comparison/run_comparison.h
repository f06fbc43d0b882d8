// Compares two sets of runs of one benchmark: whose time to train is shorter, by which factors, and
// whether that is more than chance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/comparison/conditions.h"
#include "analysis/comparison/side.h"
#include "analysis/comparison/significance.h"
#include "analysis/comparison/telemetry_comparison.h"

namespace analysis::comparison {

/// One figure of both sides.
struct FigureComparison {
  std::string name, unit, definition;
  double first = 0.0, second = 0.0;
  double ratio = 1.0;  ///< second / first
  Interval interval;   ///< of the ratio; NaN if there are too few runs
  /// Absent if there are too few runs to find a difference, if all runs have one value, and for a
  /// factor whose ratio is 1 to three digits.
  std::optional<double> p_value;
  bool distinguishable = false;  ///< p_value < kLevel
};

struct RunComparison {
  std::size_t first_runs = 0, second_runs = 0;  ///< successful ones
  bool scored = false;                    ///< by olympic means; else by means of successful runs
  std::optional<FigureComparison> total;  ///< time to train, s
  std::vector<FigureComparison> factors;  ///< the product of their ratios is that of the total
  std::string why_none;                   ///< why there is no total, or no p-value; "" if there are
  std::vector<ConditionDifference> unequal;      ///< differences that make the comparison unfair
  std::vector<ConditionDifference> differences;  ///< other differences: machine, settings, program
  std::optional<TelemetryComparison> inside;
};

struct ComparisonOptions {
  std::uint64_t seed = 1;
  std::int64_t draws = kDraws;  ///< of the bootstrap
  Per per = Per::kSystem;
};

/// Compares each of `others` with `first`. REQUIRES: all are of one benchmark. The p-values of the
/// totals are adjusted for the number of comparisons (holm_adjusted), those of the factors of one
/// comparison for the number of factors (permutation_p_values). Throws ConfigError, naming the
/// side, if options.per needs a number of nodes or units that is unknown.
std::vector<RunComparison> compare_runs(const Side& first, const std::vector<const Side*>& others,
                                        const ComparisonOptions& options);

/// The result as a sentence: "B takes 0.81 times the time of A", or that the two cannot be
/// distinguished. `first` and `second` are the names of the sides.
std::string verdict(const std::string& first, const std::string& second,
                    const RunComparison& comparison);

}  // namespace analysis::comparison
