// Compares where the time of this program's runs went: subsystems, ranks, stragglers, layers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/comparison/layers.h"
#include "analysis/comparison/side.h"

namespace analysis::comparison {

/// Seconds of a subsystem on both sides: means over runs and ranks.
struct SubsystemDifference {
  std::string name, definition;
  double first_s = 0.0, second_s = 0.0;
  double first_spread_s = 0.0, second_spread_s = 0.0;  ///< largest - smallest rank, mean of runs
  double difference_s() const { return second_s - first_s; }
};

/// Figures that only runs of this program have.
struct TelemetryComparison {
  double first_wall_s = 0.0, second_wall_s = 0.0;
  std::vector<SubsystemDifference> subsystems;             ///< in the order of telemetry
  std::vector<std::string> first_waiting, second_waiting;  ///< sentences, with the log's name
  std::vector<LayerDifference> layers;                     ///< if both sides were traced
};

/// Means over the successful runs, or over all runs of a side that has none. Absent unless runs of
/// both sides have telemetry.
std::optional<TelemetryComparison> compare_telemetry(const Side& first, const Side& second);

}  // namespace analysis::comparison
