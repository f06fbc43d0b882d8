// What one log means: outcome, times, epochs and rates, computed from a ParsedLog.
// Hides the conventions of each benchmark's logs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/log_parser.h"
#include "analysis/value.h"
#include "runner/mllog/benchmarks.h"

namespace analysis {

enum class Outcome { kNoRecords, kIncomplete, kAborted, kSuccess, kTargetMissed, kTargetUnknown };
const char* to_string(Outcome outcome);

/// One evaluation inside the run.
struct Evaluation {
  std::optional<double> position;  ///< as logged; RunFacts say under which key and in what unit
  double time_ms = 0.0;            ///< as logged
  double time_s = 0.0;             ///< since run_start
  double quality = 0.0;            ///< of the target's main part
  std::int64_t order = 0;          ///< place among the log's records
  Place place;
  std::vector<double> parts;  ///< of a target with several parts, each of them; NaN for none
};

/// Seconds of the run by the log's own intervals; each is absent where the log cannot tell.
struct RunParts {
  std::optional<double> staging_s, staging_in_run_s;
  std::optional<double> epoch_s, eval_s, save_s, eval_in_epoch_s, train_s, other_s;
  bool async_eval = false;
};

/// How far a run came, in passes over the training data and in samples.
struct RunProgress {
  std::optional<double> epochs_to_target, epochs_run, samples_to_target, samples_run;
  std::string note;  ///< "" or why this log's numbers mean something else
};

/// Definitions and units of all of these stand in run_fields() (analysis/run_fields.h).
struct RunFacts {
  std::int64_t bytes = 0, records = 0, malformed_records = 0, other_lines = 0;
  std::map<std::string, Value> config;  ///< every one of config_keys(), absent ones too
  std::map<std::string, std::vector<Value>> conflicting_keys;
  std::map<std::string, std::int64_t> repeated_keys;
  std::int64_t time_reversals = 0;
  double max_reversal_ms = 0.0;
  bool mixed_clocks = false;
  bool resumed = false;

  /// The earliest date among the first record that has one, init_start and run_start.
  std::optional<double> launched_ms;
  std::vector<std::string> seeds;  ///< each once: "1234 at train.py:56"
  std::optional<double> run_start_ms, run_stop_ms, ttt_s, init_s;
  std::optional<double> window_s;  ///< to run_stop, or to the log's last time without one
  Value run_stop_status;
  std::int64_t records_after_run_stop = 0;
  Outcome outcome = Outcome::kNoRecords;

  std::string round;                           ///< whose target it is: "3.1"; "" for the newest
  std::string metric;                          ///< log key of the evaluations
  std::optional<mllog::QualityTarget> target;  ///< absent: neither log nor rules give one
  bool target_from_log = false;                ///< the log's own quality_target
  std::string position_key;                    ///< of the evaluations: "epoch_num"
  std::optional<mllog::PositionUnit> position_unit;  ///< absent where it is not known
  bool evaluates_checkpoints = false;                ///< maybe after training, in any order
  std::vector<Evaluation> evaluations;
  std::optional<std::size_t> at_target;  ///< index of the first evaluation that meets the target
  std::optional<double> first_quality, final_quality, best_quality;

  bool blocks = false;  ///< the log marks blocks of epochs, not epochs
  RunParts parts;
  RunProgress progress;
  std::optional<double> train_throughput, run_throughput, eval_throughput;
  std::optional<double> reported_throughput_mean;

  /// Of the target's main part; absent without a target.
  std::optional<double> target_value() const;
  std::optional<mllog::Direction> direction() const;
  /// "eval_accuracy", or with the main part's name "eval_accuracy FID".
  std::string metric_name() const;
  /// Its position where that is an epoch_num.
  std::optional<double> epoch_num(const Evaluation& evaluation) const;
  /// Whether positions count epochs or passes, or what they count is not known; else they count
  /// samples, tokens or steps.
  bool counts_epochs() const;
  /// "samples"; "" where it is not known.
  std::string position_unit_text() const;
  std::optional<double> time_to_target_s() const;
  std::optional<double> ttt_excluding_staging_s() const;
  std::optional<double> ttt_including_staging_s() const;
  std::optional<double> mean_epoch_s() const;
  /// A configuration value; absent when the log has none.
  Value config_value(const std::string& key) const;
  /// Its text; "" when the log has none.
  std::string config_text(const std::string& key) const;
};

}  // namespace analysis
