// Two sets of runs of one benchmark side by side: whose time to train is shorter, by which factors,
// and whether that is more than chance. Hides which runs count and how they are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/comparison/conditions.h"
#include "analysis/comparison/inside.h"
#include "analysis/comparison/side.h"
#include "analysis/comparison/significance.h"

namespace analysis::comparison {

/// One figure of both sides.
struct FigureComparison {
  std::string name, unit, definition;
  double first = 0.0, second = 0.0;
  double ratio = 1.0;  ///< second over first
  Interval interval;   ///< of the ratio; NaN where the runs are too few
  /// Absent where the runs are too few to tell a difference, where all have one value, and for a
  /// factor whose ratio is 1 to three digits.
  std::optional<double> p_value;
  bool distinguishable = false;  ///< p_value < kLevel
};

struct RunComparison {
  std::size_t first_runs = 0, second_runs = 0;  ///< successful ones
  bool scored = false;  ///< both by the olympic mean; else by the mean of the successful runs
  std::optional<FigureComparison> total;  ///< time to train, s
  std::vector<FigureComparison> factors;  ///< whose ratios multiply to that of the total
  std::string why_none;              ///< why there is no total, or no p-value; "" where both are
  std::vector<Unequal> unequal;      ///< what makes the comparison an unequal one
  std::vector<Unequal> differences;  ///< what else differs: machine, settings, program
  std::optional<Inside> inside;
};

struct ComparisonOptions {
  std::uint64_t seed = 1;
  std::int64_t draws = kDraws;  ///< of the bootstrap
  Per per = Per::kSystem;
};

/// Each of `others` against `first`, which is of the same benchmark. p-values of the totals are
/// adjusted for each other (holm_adjusted), those of the factors of one comparison for each other
/// (exchange_p_values). Throws ConfigError naming a side that does not tell its nodes or units
/// where options.per asks for them.
std::vector<RunComparison> compare_runs(const Side& first, const std::vector<const Side*>& others,
                                        const ComparisonOptions& options);

/// In words: "B takes 0.81 times the time of A", or that nobody can tell. `first` and `second` are
/// what the sides are called.
std::string verdict(const std::string& first, const std::string& second,
                    const RunComparison& comparison);

}  // namespace analysis::comparison
