// The content of one log, collected in one pass and not judged.
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
#include "analysis/staging_facts.h"
#include "analysis/value.h"
#include "runner/mllog/log_format.h"
#include "runner/mllog/quality_target.h"

namespace mllog {
struct Record;
struct MalformedRecord;
class RecordReader;
}  // namespace mllog

namespace analysis {

/// How far the training had come, from a record's metadata.
struct Position {
  std::optional<double> epoch_num, samples_count, step_num;
};

/// A record of an evaluation. Its value is a number, or an object with several numbers.
struct Sample {
  double time_ms = 0.0;
  std::int64_t order = 0;  ///< place among the log's records
  Position position;
  std::optional<double> value;                          ///< absent if the value is an object
  std::vector<std::pair<std::string, double>> members;  ///< the object's numbers
  std::string metric;                                   ///< metadata.metric; "" for none
  Place place;
};

/// A number and its time, for values that a log may have at every step.
struct TimedValue {
  double time_ms = 0.0;
  double value = 0.0;
};

/// The first value of a configuration key, and the different ones after it.
struct ConfigValue {
  Value first;
  std::int64_t order = 0;
  std::vector<Value> others;  ///< different values logged later
};

/// How often an oddity occurs, and where first.
struct Tally {
  std::int64_t count = 0;
  Place first;
  std::string what;  ///< the text, type or member in question
};

/// A setting (configuration key or hyperparameter) as the audit sees it.
struct Setting {
  std::string json;  ///< the first value's text; "" if that was too long to keep
  Place place;
  std::int64_t count = 0;
  std::string other_json;  ///< text of the first different value
  Place other_place;
  Place again;  ///< of the second record
};

/// Input of the audit in addition to RunFacts: oddities of single records, counted.
struct LogOddities {
  std::map<std::string, Setting> settings;         ///< by key
  std::map<std::string, Tally> wrong_event_types;  ///< by key
  std::map<std::string, Tally> not_finite;         ///< by key
  std::map<std::string, Tally> odd_metrics;        ///< by key: evaluations without a number
  std::map<std::string, Tally> object_metrics;     ///< by key: evaluations that are objects
  std::map<std::string, Tally> without_epoch_num;  ///< by key
  std::map<std::string, Place> repeats;            ///< of one-time keys: the second record
  std::map<std::string, Tally> repeated_members;   ///< by key
  Tally no_event_type, odd_metadata, zero_times;
  /// The first record whose time_ms is below, in and above the range of milliseconds since 1970.
  Place small_time, calendar_time, large_time;
  Place largest_reversal, staging;   ///< of ParsedLog::staging
  std::string run_stop_value;        ///< JSON of the first run_stop's value; "" for none or null
  bool evaluations_by_step = false;  ///< evaluations say after which step they came
};

/// A log's content as far as the analysis needs it. Memory grows with the log's epochs and
/// evaluations, and by 16 bytes per throughput record, not with the log's size.
struct ParsedLog {
  std::int64_t bytes = 0;
  std::int64_t records = 0;
  std::int64_t items = 0;  ///< records, and one more that a log of Training 0.5 implies
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
  std::optional<double> first_date_ms;  ///< the first time that is a date
  std::vector<std::string> seeds;       ///< the first ones, each once: "1234 at train.py:56"
  StagedSets staging;                   ///< of the first staging_stop that tells of any
  bool resumed = false;
  std::string resumed_from;  ///< the checkpoint's path; "" if the log does not tell it

  std::int64_t time_reversals = 0;
  double max_reversal_ms = 0.0;
  double largest_time_ms = 0.0;
  bool mixed_clocks = false;  ///< times in more than one of the ranges below 1e11, to 4e12, above
  /// What the times are if none is in milliseconds since 1970: "likely seconds (s) since 1970".
  std::optional<std::string> other_unit;

  LogOddities oddities;
  std::vector<Finding> findings;  ///< records that could not be read

  /// The first mark of `key`, or null.
  const Mark* first(const std::string& key) const;
  /// The marks of `key`; empty if the log has none.
  const std::vector<Mark>& all(const std::string& key) const;
};

/// Builds a ParsedLog from the items that a RecordReader returns.
class LogCollector {
 public:
  /// REQUIRES: `reader`, whose items are added, outlives this object.
  explicit LogCollector(const mllog::RecordReader& reader);
  ~LogCollector();
  LogCollector(const LogCollector&) = delete;
  LogCollector& operator=(const LogCollector&) = delete;
  /// Adds the item that the reader returned last.
  void add(const mllog::Record& record);
  void add(const mllog::MalformedRecord& record);
  /// Call it at the end of the log.
  ParsedLog log() &&;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace analysis
