// What a set of runs on one system says together: the MLPerf score and its parts.
// Hides the olympic rule and where the system's description is found.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/disclosure.h"
#include "analysis/facts.h"
#include "analysis/variation.h"

namespace analysis {

/// Which of the valid runs, the fastest first, olympic scoring keeps: those from `first` to before
/// `last`. `dropped` fastest and slowest ones go; each failing run takes the place of a slowest.
/// None are kept where more fail than may, or where too few are left.
struct OlympicRange {
  std::size_t first = 0, last = 0;
};
OlympicRange olympic_range(std::size_t valid, std::size_t failing, std::size_t dropped);
/// How many runs it drops on each side, which is also how many of a folder may fail: those count as
/// the slowest. Of an unknown benchmark one.
std::size_t dropped_each_end(const std::string& benchmark);

/// Whether a run counts for a score: it reached its target in a time above 0, and was not resumed,
/// as such a run has no time to train.
bool succeeded(const RunFacts& facts);

/// Logs that bracket less hold no staging: nothing was copied.
inline constexpr double kLeastStagingS = 1.0;

/// One log of a set. The facts must outlive it.
struct SetMember {
  std::string file_name;
  const RunFacts* facts = nullptr;
  bool breaks_rules = false;  ///< its round's
};

/// What a submission says of its system, as far as logs can be held against it.
struct DescribedSystem {
  std::filesystem::path path;  ///< where it should be; empty outside a submission
  bool found = false;
  std::optional<double> nodes, accelerators_per_node, processors_per_node;
  std::string division, submitter;     ///< as written; "" when absent
  std::string processor, accelerator;  ///< model names; "" when absent
};

/// Means over the runs that count for the score; absent where a counted run lacks the figure.
struct OlympicMeans {
  std::optional<double> epochs_to_target, epochs_run, n_evals, staging_in_run_s, epoch_s, train_s,
      eval_s, other_s, mean_epoch_s, samples_per_epoch;
  std::optional<double> train_throughput, eval_throughput, run_throughput;  ///< harmonic
};

/// A set held against the smallest one with the same benchmark and hardware.
struct Scaling {
  std::string base;    ///< its name
  double units = 1.0;  ///< compute units over those of the base
  /// Throughput per unit over that of the base.
  std::optional<double> efficiency, train_efficiency;
};

/// Definitions and units stand in system_fields() (analysis/system_fields.h).
struct SystemFacts {
  std::string benchmark;
  bool weak = false;  ///< instances trained at the same time: rated by throughput, not by time
  std::int64_t runs = 0, successful = 0, failed = 0;
  std::int64_t rule_breaking = 0;  ///< of the successful
  std::optional<double> runs_required;
  std::optional<double> ttt_min_s, ttt_max_s, ttt_mean_s, ttt_median_s, ttt_stdev_s, epochs_mean;
  Value global_batch_size, number_of_ranks;
  Disclosure disclosed;
  std::optional<double> compute_units;
  std::optional<double> scaling_factor;

  std::optional<double> olympic_mean_s, olympic_stdev_s, olympic_epochs_stdev;
  std::vector<std::string> olympic_files;  ///< in order of time
  std::optional<double> score_s;           ///< unscaled; where enough runs keep all rules
  std::vector<std::string> score_files;    ///< the runs in it, in order of time
  OlympicMeans olympic;
  std::optional<Variation> variation;  ///< of the runs in olympic_files

  std::optional<double> ttta_s, instance_scale;  ///< weak sets only

  DescribedSystem description;
  std::optional<Scaling> scaling;  ///< where a smaller set of the same kind of machine is known

  /// What one node has, "4 NVIDIA V100, 2 Intel Xeon"; "" when the description does not tell.
  std::string hardware() const;
  /// Samples trained and evaluated by one unit in a second of the epochs.
  std::optional<double> epoch_throughput_per_unit() const;
  std::optional<double> train_throughput_per_unit() const;
};

/// Whether a folder is one of instances that were trained at the same time: weak/BENCHMARK.
bool is_weak_folder(const std::filesystem::path& folder);

/// Whether a file in this folder belongs to a set; pruned_results, logs and the like do not.
bool counts_for_a_set(const std::filesystem::path& folder);

/// A set and what it is called.
struct NamedSystem {
  std::string name;
  SystemFacts* facts = nullptr;
};
/// Sets `scaling` of all that have a smaller one beside them.
void relate_scales(const std::vector<NamedSystem>& systems);

}  // namespace analysis
