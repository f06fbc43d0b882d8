// One log, read once: what its records say, without judging it.
// Hides the format, damaged lines, and which records matter.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/audit_rules.h"
#include "analysis/intervals.h"
#include "analysis/key_roles.h"
#include "analysis/value.h"
#include "runner/mllog/log_format.h"
#include "runner/mllog/quality_target.h"

namespace mllog {
struct Record;
struct MalformedRecord;
class RecordReader;
}  // namespace mllog

namespace analysis {

/// How far the training had come, as a record's metadata say it.
struct Position {
  std::optional<double> epoch_num, samples_count, step_num;
};

/// A record of an evaluation: a number, or an object with several.
struct Sample {
  double time_ms = 0.0;
  std::int64_t order = 0;  ///< place among the log's records
  Position position;
  std::optional<double> value;                          ///< absent where the value is an object
  std::vector<std::pair<std::string, double>> members;  ///< its numbers, where it is one
  std::string metric;                                   ///< metadata.metric; "" for none
  Place place;
};

/// A number at a moment, for what a log may say at every step.
struct TimedValue {
  double time_ms = 0.0;
  double value = 0.0;
};

/// What a configuration key said first, and what else.
struct ConfigValue {
  Value first;
  std::int64_t order = 0;
  std::vector<Value> others;  ///< different values logged later
};

/// How often something was met, and where first.
struct Tally {
  std::int64_t count = 0;
  Place first;
  std::string what;  ///< what stood there
};

/// A setting (configuration key or hyperparameter) as the audit sees it.
struct Setting {
  std::string json;  ///< the first value's text; "" where that was too long to keep
  Place place;
  std::int64_t count = 0;
  std::string other_json;  ///< the first different value's
  Place other_place;
  Place again;  ///< of the second record
};

/// What the audit needs beside the facts: oddities of single records, each counted.
struct LogOddities {
  std::map<std::string, Setting> settings;         ///< by key
  std::map<std::string, Tally> wrong_event_types;  ///< by key
  std::map<std::string, Tally> not_finite;         ///< by key
  std::map<std::string, Tally> odd_metrics;        ///< by key: evaluations without a number
  std::map<std::string, Tally> object_metrics;     ///< by key: evaluations that are objects
  std::map<std::string, Tally> without_epoch_num;  ///< by key
  std::map<std::string, Place> repeats;            ///< of one-time keys: the second record
  Tally no_event_type, odd_metadata, zero_times;
  Place small_time, large_time;  ///< the first record of each clock
  Place largest_reversal;
  std::string run_stop_value;        ///< JSON of the first run_stop's value; "" for none or null
  bool evaluations_by_step = false;  ///< evaluations say after which step they came
};

/// A log's content as far as the analysis needs it. Memory grows with its epochs and evaluations,
/// and by 16 bytes with each throughput that it tells, not with its bytes.
struct ParsedLog {
  std::int64_t bytes = 0;
  std::int64_t records = 0;
  std::int64_t items = 0;  ///< records, and the one that a log of Training 0.5 implies
  mllog::LogFormat format = mllog::LogFormat::kMllog;  ///< of the last record
  std::int64_t malformed_records = 0;
  std::int64_t other_lines = 0;

  std::map<std::string, ConfigValue> config;       ///< by key, first occurrence
  std::map<std::string, std::vector<Mark>> marks;  ///< by key: *_start and *_stop
  std::map<std::string, std::int64_t> counts;      ///< of one-time keys and configuration keys
  std::map<std::string, std::vector<Sample>> evaluations;  ///< by key: eval_accuracy, eval_error
  std::vector<TimedValue> throughputs;                     ///< as reported, in the submitter's unit
  Place first_throughput;
  /// The record quality_target of this program's runs.
  std::optional<mllog::QualityTarget> own_target;
  Value status;                         ///< metadata.status of the first run_stop
  Position stopped_at;                  ///< of the first run_stop
  std::optional<double> first_date_ms;  ///< the first time that is one of a calendar
  std::vector<std::string> seeds;       ///< the first ones, each once: "1234 at train.py:56"
  bool resumed = false;

  std::int64_t time_reversals = 0;
  double max_reversal_ms = 0.0;
  double largest_time_ms = 0.0;
  bool has_small_times = false, has_large_times = false;  ///< below, above 1e11 ms

  LogOddities oddities;
  std::vector<Finding> findings;  ///< of what could not be read

  /// The first mark of `key`, or null.
  const Mark* first(const std::string& key) const;
  /// Its marks; none when the log has no such record.
  const std::vector<Mark>& all(const std::string& key) const;
};

/// Makes a ParsedLog of what somebody reads.
class LogCollector {
 public:
  /// The reader that gives the items; it outlives this.
  explicit LogCollector(const mllog::RecordReader& reader);
  ~LogCollector();
  LogCollector(const LogCollector&) = delete;
  LogCollector& operator=(const LogCollector&) = delete;
  /// Each as the reader gives it.
  void add(const mllog::Record& record);
  void add(const mllog::MalformedRecord& record);
  /// At the end of the log.
  ParsedLog log() &&;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace analysis
