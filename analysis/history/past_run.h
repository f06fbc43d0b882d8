// A past run, as the index stores it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace analysis::history {

/// past_run_definitions() has the definitions.
struct PastRun {
  std::string log;               ///< relative to the folder of results
  std::string workload, system;  ///< "" if unknown
  std::string outcome;           ///< text of RunFacts::outcome
  bool resumed = false;
  std::int64_t started_ms = 0;  ///< since 1970; 0 if the log has no run_start
  std::optional<double> ttt_s, epochs, train_throughput, best_quality;
  std::string revision;                         ///< of the program; "" for other programs' runs
  std::map<std::string, std::string> settings;  ///< configuration, flat

  /// Same condition as analysis::succeeded().
  bool succeeded() const { return outcome == "success" && !resumed && ttt_s.value_or(0.0) > 0.0; }
};

struct ReadRun {
  PastRun run;
  std::string problem;  ///< why its telemetry, and so its revision, could not be read; else ""
};
/// Reads log, telemetry and configuration. Throws for a log or configuration that cannot be read.
ReadRun read_past_run(const std::filesystem::path& log, const std::string& name);

/// Sizes and times, as text, of the files that read_past_run() reads: different if any has changed.
std::string stamp_of(const std::filesystem::path& log);

/// "570ab90223c8" or "570ab90223c8-dirty"; "" for "".
std::string short_revision(const std::string& revision);

/// Whether a setting affects how a run trains; seed, paths of results and submission data do not.
bool is_comparable(const std::string& setting);

}  // namespace analysis::history
