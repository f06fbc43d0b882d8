// Two sets of runs of one benchmark side by side: whose time to train is shorter, by which factors,
// and whether that is more than chance. Hides which runs count and how they are drawn.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/breakdown.h"
#include "analysis/comparison/layers.h"
#include "analysis/comparison/significance.h"
#include "analysis/comparison/time_account.h"
#include "analysis/facts.h"
#include "analysis/systems.h"

namespace analysis::comparison {

/// A run and what lies beside its log. What is pointed to outlives this.
struct RunInSide {
  std::string file_name;
  const RunFacts* facts = nullptr;
  const RunTelemetry* telemetry = nullptr;  ///< null where there is none
  const LayerTimes* layers = nullptr;       ///< of its trace; null where there is none
  /// Its resolved configuration, flat; none of others' runs.
  std::map<std::string, std::string> settings;
};

/// What times are multiplied by before they are compared.
enum class Per { kSystem, kNode, kUnit };
const char* to_string(Per per);

/// The runs of one benchmark on one system.
struct Side {
  std::string name;
  const SystemFacts* system = nullptr;  ///< outlives this
  std::string round;                    ///< "hpc-1.0"; "" where nothing tells
  std::vector<RunInSide> runs;

  /// Those that reached the target and were not resumed, the fastest first.
  std::vector<const RunInSide*> successful() const;
  std::optional<double> nodes() const;
  /// How many it has, 1 for kSystem; nothing where it does not tell.
  std::optional<double> count(Per per) const;
};

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

/// One condition that both sides should share, or that explains a difference.
struct Unequal {
  std::string what, first, second;
};

/// Seconds of a subsystem on both sides: means over runs and ranks.
struct SubsystemDifference {
  std::string name, definition;
  double first_s = 0.0, second_s = 0.0;
  double first_spread_s = 0.0, second_spread_s = 0.0;  ///< largest less smallest rank, mean of runs
  double difference_s() const { return second_s - first_s; }
};

/// What only runs of this program tell.
struct Inside {
  double first_wall_s = 0.0, second_wall_s = 0.0;
  std::vector<SubsystemDifference> subsystems;             ///< in the order of telemetry
  std::vector<std::string> first_waiting, second_waiting;  ///< sentences, with the log's name
  std::vector<LayerDifference> layers;                     ///< where both sides were traced
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
