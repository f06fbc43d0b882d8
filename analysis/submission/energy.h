// Energy of the runs of a folder with power/, and of the set.
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

/// A run and its time to train.
struct TimedRun {
  std::string file;  ///< "result_1.txt"
  std::optional<double> time_to_train_s;
};

/// A power log of a run.
struct NamedPowerLog {
  std::string file;  ///< "node_0.txt"
  PowerLog log;
};

/// The energy of one run. energy_definitions() has definitions and units of the figures.
struct RunEnergy {
  std::string file;    ///< "result_1.txt"
  std::string folder;  ///< "power/result_1"
  std::optional<double> time_to_train_s;
  std::vector<NamedPowerLog> logs;  ///< nodes, then switches; each by number
  std::optional<double> power_w, energy_j;
  bool counts = false;  ///< whether it counts for the mean of the set
  std::vector<mllog::Finding> findings;

  std::int64_t count(PowerSource source) const;
};

/// The energy of the runs of one folder.
struct SetEnergy {
  std::vector<RunEnergy> runs;  ///< in the given order
  double scaling_factor = 1.0;
  std::optional<double> mean_energy_j, energy_j;
};

/// The files of the runs whose mean is the score: `valid` by time, without the `dropped` fastest
/// and slowest. Each of `failing` further runs takes the place of a slowest one. Empty if more fail
/// than are dropped, if no run is left, or if one of `valid` has no time.
std::vector<std::string> olympic_runs(const std::vector<TimedRun>& valid, std::size_t failing,
                                      std::size_t dropped);

/// Energy by the formula of MLCommons' result summarizer, in joules if readings are in watts.
/// `counting` are the files of the runs for the mean. Nothing if `folder` has no power/. Never
/// throws for its contents.
std::optional<SetEnergy> energy_of(const std::filesystem::path& folder,
                                   const std::vector<TimedRun>& runs,
                                   const std::vector<std::string>& counting, double scaling_factor);

/// A figure of energy: its place in JSON documents, unit and definition.
struct EnergyDefinition {
  std::string_view name;  ///< "energy.runs.energy_j"
  std::string_view unit;  ///< "" for counts and factors
  std::string_view definition;
};
std::span<const EnergyDefinition> energy_definitions();

}  // namespace analysis::submission
