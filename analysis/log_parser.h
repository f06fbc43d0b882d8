// One log, read once: what its records say, without judging it.
// Hides the format, damaged lines, and which records matter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/benchmark.h"
#include "analysis/intervals.h"
#include "analysis/value.h"
#include "runner/mllog/finding.h"

namespace analysis {

using mllog::Finding;

/// A record that gives a number at a moment.
struct Sample {
  double time_ms = 0.0;
  std::int64_t order = 0;  ///< place among the log's records
  std::optional<double> epoch_num;
  double value = 0.0;
};

/// What a configuration key said first, and what else.
struct ConfigValue {
  Value first;
  std::int64_t order = 0;
  std::vector<Value> others;  ///< different values logged later
};

/// A log's content as far as the analysis needs it; memory grows with its epochs and evaluations,
/// not with its bytes.
struct ParsedLog {
  std::int64_t bytes = 0;
  std::int64_t records = 0;
  std::int64_t malformed_records = 0;
  std::int64_t other_lines = 0;

  std::map<std::string, ConfigValue> config;       ///< by key, first occurrence
  std::map<std::string, std::vector<Mark>> marks;  ///< by key: *_start and *_stop
  std::map<std::string, std::int64_t> counts;      ///< of one-time keys and configuration keys
  std::map<std::string, std::vector<Sample>> evaluations;  ///< by key: eval_accuracy, eval_error
  std::vector<Sample> throughputs;                         ///< as reported, in the submitter's unit
  std::optional<QualityTarget> own_target;  ///< the record quality_target of this program's runs
  Value status;                             ///< metadata.status of the first run_stop
  bool resumed = false;

  std::int64_t time_reversals = 0;
  double max_reversal_ms = 0.0;
  double largest_time_ms = 0.0;
  bool has_small_times = false, has_large_times = false;  ///< below, above 1e11 ms

  std::vector<Finding> findings;

  /// The first mark of `key`, or null.
  const Mark* first(const std::string& key) const;
  /// Its marks; none when the log has no such record.
  const std::vector<Mark>& all(const std::string& key) const;
};

/// The configuration keys that a report shows.
const std::vector<std::string>& config_keys();

/// Reads the log in one pass, holding a few lines at a time. Damaged lines are findings. Throws
/// SystemError when the file cannot be opened or read.
ParsedLog parse_log(const std::filesystem::path& path);
ParsedLog parse_log(std::istream& in);

}  // namespace analysis
