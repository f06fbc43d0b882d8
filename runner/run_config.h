// What a run is, read once from file and overrides and then never changed.
// Hides the configuration's keys and defaults of everything that is not the workload's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/object_reader.h"

namespace runner {

/// When a job is given up; 0: never.
struct WatchLimits {
  /// Without progress. Nothing that goes on, however slowly, is to be taken for a hang.
  std::int64_t hang_timeout_s = 600;
  std::int64_t lost_timeout_s = 8;  ///< without a sign of life of a rank
};

struct SubmissionConfig {
  std::string org = "unsubmitted";
  std::string division = "open";  ///< closed, open
  std::string status = "onprem";  ///< cloud, onprem, preview, research
  std::string platform;           ///< empty: the CPU's model name and the node count
  std::string benchmark;          ///< empty: the workload's own
};

struct EvaluationConfig {
  std::int64_t every_epochs = 1;
  std::int64_t offset_epochs =
      0;                       ///< first evaluation after this many epochs (0: after every_epochs)
  std::int64_t per_epoch = 1;  ///< evaluations of each epoch; above 1, both others are the default
  /// The first epoch (1-based) not before `epoch_num` after which an evaluation is due.
  std::int64_t next_due(std::int64_t epoch_num) const;
  /// Steps from one evaluation within an epoch to the next, rounded down as the MLPerf rules do;
  /// 0: epochs are not cut.
  std::int64_t period_steps(std::int64_t steps_per_epoch) const;
};

struct CheckpointConfig {
  std::string directory;         ///< root of their folders; empty: beside the results
  std::int64_t every_steps = 0;  ///< 0: not by steps
  double every_minutes = 0.0;    ///< 0: not by time
  std::int64_t keep_last = 2;
  bool is_scheduled() const { return every_steps > 0 || every_minutes > 0.0; }
};

struct RunConfig {
  std::string file;         ///< as given on the command line
  std::string workload;     ///< registry name
  std::uint64_t seed = 0;   ///< of this run; 0 in the file: drawn from the operating system
  std::int64_t epochs = 0;  ///< limit
  bool has_target = false;  ///< false: the workload's own target
  double target_quality = 0.0;
  SubmissionConfig submission;
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  std::string system_name;  ///< results/<system>/<workload>/
  std::string results_directory = "results";
  std::string clear_caches = "auto";  ///< auto, never, required
  std::int64_t threads = 0;           ///< per rank; 0: the CPUs that this rank may use
  WatchLimits watch;
  base::ObjectReader reader;  ///< the whole file, for the workload's own keys
};

/// The key that says whose configuration it is.
std::string workload_name(const base::ObjectReader& reader);

/// Reads the keys that belong to every workload; evaluations_per_epoch is that workload's, where
/// the configuration says nothing of when to evaluate. The caller lets the workload read its own,
/// then reject_unknown(). Throws ConfigError.
RunConfig parse_run_config(const base::ObjectReader& reader, const std::string& file,
                           std::int64_t evaluations_per_epoch = 1);

/// results/<system>/<workload>: where a run's files go.
std::string results_folder(const RunConfig& config);
/// The folder that has those of checkpoints: the same, or the one below checkpoint.directory.
std::string checkpoints_folder(const RunConfig& config);

/// `count` different 64-bit seeds, a function of `master` alone; none is 0.
std::vector<std::uint64_t> derive_seeds(std::uint64_t master, std::int64_t count);

/// `text` as one path component: letters, digits, '.', '_' and '-' stay, runs of others become one
/// '-'.
std::string sanitized(const std::string& text);

/// Host name and the short name of its CPU, such as "node7-xeon-platinum-8368".
std::string default_system_name();

}  // namespace runner
