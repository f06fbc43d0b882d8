// Where one run's time went, by its log alone or by the run's own telemetry, in one form.
// Hides the difference between the two sources.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts.h"
#include "analysis/stragglers.h"

namespace analysis {

/// One exclusive part of a run. Over the ranks where telemetry gives them; else all three agree.
struct Part {
  std::string name;
  std::string definition;
  double min_s = 0.0, mean_s = 0.0, max_s = 0.0;
  std::optional<double> percent;          ///< mean_s of the mean wall time
  std::optional<int> min_rank, max_rank;  ///< who had the extremes
};

struct Breakdown {
  double wall_s = 0.0;  ///< mean over the ranks
  std::vector<Part> parts;
};

/// A quantity that every rank has, in its own unit.
struct Quantity {
  std::string name;
  std::string definition;
  double min = 0.0, mean = 0.0, max = 0.0;
  std::optional<double> sum;  ///< over the ranks, where that means something
};

/// Where one rank's time went, in the order of the subsystems.
struct RankParts {
  int rank = 0;
  std::string host;
  std::vector<double> seconds;
};

/// Training steps of all ranks that took from low_s up to, but not with, high_s.
struct StepCount {
  double low_s = 0.0, high_s = 0.0;
  std::int64_t steps = 0;
};

/// What the telemetry file beside a log says.
struct RunTelemetry {
  std::int64_t ranks = 0;
  Breakdown subsystems;
  std::vector<RankParts> by_rank;
  std::vector<StepCount> step_histogram;               ///< rising; empty where the file has none
  std::vector<Quantity> quantities;                    ///< counters, step durations, peak memory
  Waiting waiting;                                     ///< who was waited for
  double longest_wall_s = 0.0, shortest_wall_s = 0.0;  ///< of the ranks
  std::optional<double> overhead_fraction;  ///< cost of measuring, part of the run's time
  std::string provenance_json;              ///< machine and build as written
  std::vector<std::pair<std::string, std::string>> provenance;  ///< the same, flat: path, value
};

/// The run by its log's records: staging, train, eval, other, absent ones left out. Nothing
/// without a run window.
std::optional<Breakdown> log_breakdown(const RunFacts& facts);

}  // namespace analysis
