// Everything that an analysis found: the input of the text, JSON, CSV and HTML writers.
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

/// One log and what lies beside it.
struct RunReport {
  std::string name;    ///< path relative to the PATH it was found under
  std::string folder;  ///< the folder in that name, "." when there is none
  std::filesystem::path path;
  RunFacts facts;
  bool breaks_rules = false;  ///< its round's; where ReadOptions ask for scores
  std::vector<Finding> findings;
  std::optional<Breakdown> log_parts;
  std::optional<RunTelemetry> telemetry;
  std::optional<RunTrace> trace;

  /// Telemetry's subsystems where there are any, else the log's parts; null without either.
  const Breakdown* best_breakdown() const;
};

/// The runs of one folder.
struct SystemReport {
  std::string name;  ///< folder relative to the PATH it was found under
  std::filesystem::path path;
  SystemFacts facts;
  std::vector<Finding> findings;
  std::optional<submission::SetEnergy> energy;  ///< of a folder with power/
};

/// What a system is called where its benchmark is known:
/// "CSCS/results/daint/cosmoflow" as "CSCS/daint".
std::string label_of(const SystemReport& system);

/// A path that could not be read, and why.
struct Problem {
  std::string path;
  std::string text;
  bool missing = false;  ///< no such file or folder, or no log in it
};

struct Report {
  std::vector<RunReport> runs;  ///< in order of their names, numbers by value
  std::vector<SystemReport> systems;
  std::vector<Problem> problems;

  /// Logs with at least one record.
  std::size_t readable() const;
};

}  // namespace analysis
