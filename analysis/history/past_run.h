// One run as the memory of runs keeps it.
// Hides where its facts are read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace analysis::history {

/// Definitions of all figures stand in past_run_definitions().
struct PastRun {
  std::string log;               ///< relative to the folder of results
  std::string workload, system;  ///< "" where nothing tells
  std::string outcome;           ///< as RunFacts has it
  bool resumed = false;
  std::int64_t started_ms = 0;  ///< of the calendar; 0 where the log has no run_start
  std::optional<double> ttt_s, epochs, train_throughput, best_quality;
  std::string revision;                         ///< of the program; "" for other programs' runs
  std::map<std::string, std::string> settings;  ///< configuration, flat

  /// As analysis::succeeded().
  bool succeeded() const { return outcome == "success" && !resumed && ttt_s.value_or(0.0) > 0.0; }
};

struct ReadRun {
  PastRun run;
  std::string problem;  ///< why its telemetry, and so its revision, could not be read; else ""
};
/// Reads log, telemetry and configuration. Throws for a log or configuration that cannot be read.
ReadRun read_past_run(const std::filesystem::path& log, const std::string& name);

/// When any of the files it is read from changed: sizes and times as text.
std::string stamp_of(const std::filesystem::path& log);

/// "570ab90223c8" or "570ab90223c8-dirty"; "" of none.
std::string short_revision(const std::string& revision);

/// Whether a setting says what a run does; seed, places of results and submission do not.
bool is_comparable(const std::string& setting);

}  // namespace analysis::history
