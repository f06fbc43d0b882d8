// Energy of the runs of a folder that holds power/, and of all of them together.
// Hides the files, the formula, and which runs olympic scoring keeps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/submission/power_log.h"

namespace analysis::submission {

/// One run whose energy is asked for.
struct TimedRun {
  std::string file;  ///< "result_1.txt"
  std::optional<double> time_to_train_s;
};

/// A power log of a run.
struct NamedPowerLog {
  std::string file;  ///< "node_0.txt"
  PowerLog log;
};

/// One run. Definitions and units of the figures stand in energy_definitions().
struct RunEnergy {
  std::string file;    ///< "result_1.txt"
  std::string folder;  ///< "power/result_1"
  std::optional<double> time_to_train_s;
  std::vector<NamedPowerLog> logs;  ///< nodes, then switches; each by number
  std::optional<double> power_w, energy_j;
  bool counts = false;  ///< for the mean of the set
  std::vector<mllog::Finding> findings;

  std::int64_t count(PowerSource source) const;
};

/// The runs of one folder.
struct SetEnergy {
  std::vector<RunEnergy> runs;  ///< in the order they were given
  double scaling_factor = 1.0;
  std::optional<double> mean_energy_j, energy_j;
};

/// The runs, by file, whose mean is the score: by time without the `dropped` fastest and slowest,
/// where each of `failing` runs (none of `valid`) takes the place of a slowest. None where more
/// fail than are dropped, or where one of the runs has no time.
std::vector<std::string> olympic_runs(const std::vector<TimedRun>& valid, std::size_t failing,
                                      std::size_t dropped);

/// Energy by MLCommons' result summarizer, in joules where readings are in watts. `counting` names
/// the runs for the mean. Nothing where `folder` has no power/. Never throws for what it holds.
std::optional<SetEnergy> energy_of(const std::filesystem::path& folder,
                                   const std::vector<TimedRun>& runs,
                                   const std::vector<std::string>& counting, double scaling_factor);

/// A figure of energy: its place in documents, unit and meaning.
struct EnergyDefinition {
  std::string_view name;  ///< "energy.runs.energy_j"
  std::string_view unit;  ///< "" for counts and factors
  std::string_view definition;
};
std::span<const EnergyDefinition> energy_definitions();

}  // namespace analysis::submission
