// Facts of one log: outcome, times, epochs and rates, computed from a ParsedLog.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/log_parser.h"
#include "analysis/staging_facts.h"
#include "analysis/value.h"
#include "runner/mllog/benchmarks.h"

namespace analysis {

enum class Outcome { kNoRecords, kIncomplete, kAborted, kSuccess, kTargetMissed, kTargetUnknown };
const char* to_string(Outcome outcome);

/// One evaluation inside the run.
struct Evaluation {
  std::optional<double> position;  ///< as logged; see position_key and position_unit
  double time_ms = 0.0;            ///< as logged
  double time_s = 0.0;             ///< since run_start
  double quality = 0.0;            ///< of the target's main part
  std::int64_t order = 0;          ///< place among the log's records
  Place place;
  std::vector<double> parts;  ///< one of each part if the target has several; NaN: none
};

/// Seconds of the run by the log's intervals; each is absent if the log does not determine it.
struct RunParts {
  std::optional<double> staging_s, staging_in_run_s;
  double staging_beside_s = 0.0;  ///< of staging_in_run_s, during epochs and evaluations
  std::optional<double> epoch_s, eval_s, save_s, eval_in_epoch_s, train_s, other_s;
  bool async_eval = false;

  /// Of staging_in_run_s, outside epochs and evaluations; 0 if absent.
  double staging_alone_s() const { return staging_in_run_s.value_or(0.0) - staging_beside_s; }
};

/// How far a run came, in passes over the training data and in samples.
struct RunProgress {
  std::optional<double> epochs_to_target, epochs_run, samples_to_target, samples_run;
  std::string note;  ///< "" or why this log's numbers mean something else
};

/// run_fields() (analysis/run_fields.h) has the definitions and units.
struct RunFacts {
  std::int64_t bytes = 0, records = 0, malformed_records = 0, other_lines = 0;
  std::map<std::string, Value> config;  ///< has all config_keys(), with an empty Value if absent
  std::map<std::string, std::vector<Value>> conflicting_keys;
  std::map<std::string, std::int64_t> repeated_keys;
  std::int64_t time_reversals = 0;
  double max_reversal_ms = 0.0;
  bool mixed_clocks = false;
  std::optional<std::string> other_unit;  ///< ParsedLog::other_unit
  std::vector<StagedSet> staged_sets;     ///< as the run told of them
  WarmData warm_data;                     ///< likewise
  bool resumed = false;
  std::string resumed_from;  ///< the checkpoint's path; "" if the log does not tell it

  /// The earliest of the dates of init_start, run_start and the first record with a date.
  std::optional<double> launched_ms;
  std::vector<std::string> seeds;  ///< each once: "1234 at train.py:56"
  std::optional<double> run_start_ms, run_stop_ms, ttt_s, init_s;
  std::optional<double> window_s;  ///< from run_start to run_stop, else to the log's last time
  Value run_stop_status;
  std::int64_t records_after_run_stop = 0;
  Outcome outcome = Outcome::kNoRecords;

  std::string round;                           ///< whose rules apply: "3.1"; "" for the newest
  std::string metric;                          ///< log key of the evaluations
  std::optional<mllog::QualityTarget> target;  ///< absent: neither log nor rules give one
  bool target_from_log = false;                ///< the log's own quality_target
  std::string position_key;                    ///< of the evaluations: "epoch_num"
  std::optional<mllog::PositionUnit> position_unit;  ///< absent if unknown
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
  /// The evaluation's position if positions are epoch_num, else absent.
  std::optional<double> epoch_num(const Evaluation& evaluation) const;
  /// True if positions count epochs or passes, or their unit is unknown; false if they count
  /// samples, tokens or steps.
  bool counts_epochs() const;
  /// "samples"; "" if unknown.
  std::string position_unit_text() const;
  std::optional<double> time_to_target_s() const;
  std::optional<double> ttt_excluding_staging_s() const;
  std::optional<double> ttt_including_staging_s() const;
  /// Inside and outside the run, but not during epochs and evaluations.
  std::optional<double> time_for_staging_s() const;
  std::optional<double> staging_percent() const;
  std::optional<double> staging_on_top_percent() const;
  std::optional<double> mean_epoch_s() const;
  /// A configuration value; an empty Value if the log has none.
  Value config_value(const std::string& key) const;
  /// The text of a configuration value; "" if the log has none.
  std::string config_text(const std::string& key) const;
};

}  // namespace analysis
