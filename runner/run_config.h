// The configuration of a run, read once from file and overrides; contains all keys except the
// workload's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/object_reader.h"
#include "runner/cpu_config.h"

namespace runner {

/// When to give up a job; 0: never.
struct WatchLimits {
  /// Without progress. Must exceed the longest legitimate pause between signs of progress.
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
  std::int64_t offset_epochs = 0;  ///< epochs before the first evaluation (0: every_epochs)
  std::int64_t per_epoch = 1;  ///< evaluations in each epoch; above 1, the other two members keep
                               ///< their defaults
  /// The first epoch (1-based), at or after `epoch_num`, that is followed by an evaluation.
  std::int64_t next_due(std::int64_t epoch_num) const;
  /// Steps between evaluations within an epoch, rounded down as in the MLPerf rules; 0: epochs are
  /// not split.
  std::int64_t period_steps(std::int64_t steps_per_epoch) const;
};

struct CheckpointConfig {
  std::string directory;         ///< root of the checkpoint folders; empty: next to the results
  std::int64_t every_steps = 0;  ///< 0: not by steps
  double every_minutes = 0.0;    ///< 0: not by time
  std::int64_t keep_last = 2;
  bool is_scheduled() const { return every_steps > 0 || every_minutes > 0.0; }
};

struct RunConfig {
  std::string file;         ///< as given on the command line
  std::string workload;     ///< registry name
  std::uint64_t seed = 0;   ///< 0 in the file: drawn from the operating system
  std::int64_t epochs = 0;  ///< limit
  bool has_target = false;  ///< false: use the workload's own target
  double target_quality = 0.0;
  SubmissionConfig submission;
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  std::string system_name;  ///< results/<system>/<workload>/
  std::string results_directory = "results";
  std::string clear_caches = "auto";  ///< auto, never, required
  std::int64_t threads = 0;           ///< per rank; 0: the CPUs that this rank may use
  CpuConfig cpus;
  WatchLimits watch;
  base::ObjectReader reader;  ///< the whole file, for the workload's own keys
};

/// Reads the key that names the configuration's workload.
std::string workload_name(const base::ObjectReader& reader);

/// Reads the keys that all workloads share. `evaluations_per_epoch` is the workload's default if
/// the configuration has no evaluation schedule. The caller then lets the workload read its own
/// keys and calls reject_unknown(). Throws ConfigError.
RunConfig parse_run_config(const base::ObjectReader& reader, const std::string& file,
                           std::int64_t evaluations_per_epoch = 1);

/// results/<system>/<workload>: the folder of a run's files.
std::string results_folder(const RunConfig& config);
/// The parent folder of checkpoint folders: results_folder(), or its counterpart below
/// checkpoint.directory.
std::string checkpoints_folder(const RunConfig& config);

/// `count` different nonzero 64-bit seeds; a function of `master` only.
std::vector<std::uint64_t> derive_seeds(std::uint64_t master, std::int64_t count);

/// `text` as one path component: keeps letters, digits, '.', '_' and '-', and replaces each run of
/// others by one '-'.
std::string sanitized(const std::string& text);

/// Within a scheduler's job the cluster's name, or "1x-xeon-platinum-8368" if it has none; else
/// host name and short CPU name, such as "node7-xeon-platinum-8368".
std::string default_system_name();

}  // namespace runner
