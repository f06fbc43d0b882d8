// The results of an analysis: the input of the text, JSON, CSV and HTML writers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/breakdown.h"
#include "analysis/facts.h"
#include "analysis/log_parser.h"
#include "analysis/submission/energy.h"
#include "analysis/systems.h"
#include "analysis/trace_file.h"

namespace analysis {

/// One log and the files next to it.
struct RunReport {
  std::string name;    ///< path relative to the PATH it was found under
  std::string folder;  ///< the folder in `name`; "." if there is none
  std::filesystem::path path;
  RunFacts facts;
  bool breaks_rules = false;  ///< of its round; only if ReadOptions::scores
  std::vector<Finding> findings;
  std::optional<Breakdown> log_parts;
  std::optional<RunTelemetry> telemetry;
  std::optional<RunTrace> trace;

  /// The telemetry's subsystems if present, else the log's parts; null without either.
  const Breakdown* best_breakdown() const;
};

/// The runs of one folder.
struct SystemReport {
  std::string name;  ///< folder relative to the PATH it was found under
  std::filesystem::path path;
  SystemFacts facts;
  std::vector<Finding> findings;
  std::optional<submission::SetEnergy> energy;  ///< only for a folder with power/
};

/// `label`, and what the times of the set are if they are not in milliseconds since 1970.
std::string with_time_unit(const std::string& label, const SystemFacts& facts);

/// The name of a system without results/ and its benchmark, as with_time_unit() has it:
/// "CSCS/daint" for "CSCS/results/daint/cosmoflow".
std::string label_of(const SystemReport& system);

/// A path that could not be read, and why.
struct Problem {
  std::string path;
  std::string text;
  bool missing = false;  ///< no such file or folder, or no log in it
};

struct Report {
  std::vector<RunReport> runs;  ///< by name, numbers in names by value
  std::vector<SystemReport> systems;
  std::vector<Problem> problems;

  /// Logs with at least one record.
  std::size_t readable() const;
};

}  // namespace analysis
