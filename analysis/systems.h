// Figures of a set of runs on one system: the MLPerf score and its parts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/disclosure.h"
#include "analysis/facts.h"
#include "analysis/variation.h"

namespace analysis {

/// The range [first, last) of valid runs, sorted by time, that olympic scoring keeps. It drops the
/// `dropped` fastest and slowest runs; failing runs count as the slowest. Empty if more fail than
/// are dropped, or if no run is left.
struct OlympicRange {
  std::size_t first = 0, last = 0;
};
OlympicRange olympic_range(std::size_t valid, std::size_t failing, std::size_t dropped);
/// The number of runs dropped at each end, and the number that may fail. One for an unknown
/// benchmark.
std::size_t dropped_each_end(const std::string& benchmark);

/// Whether a run counts for a score: it reached its target in a time above 0 and was not resumed; a
/// resumed run has no time to train.
bool succeeded(const RunFacts& facts);

/// Shorter staging copied nothing, and counts as none.
inline constexpr double kLeastStagingS = 1.0;

/// One log of a set. The facts must outlive it.
struct SetMember {
  std::string file_name;
  const RunFacts* facts = nullptr;
  bool breaks_rules = false;  ///< the log breaks the rules of its round
};

/// For each log of a set the place of the one in which its run goes on from a checkpoint; nothing
/// for the last part of a run. `logs` are of one folder.
std::vector<std::optional<std::size_t>> continuations(const std::vector<SetMember>& logs);

/// A submission's description of its system, as far as logs can be compared with it.
struct DescribedSystem {
  std::filesystem::path path;  ///< where the file should be; empty outside a submission
  bool found = false;
  std::optional<double> nodes, accelerators_per_node, processors_per_node;
  std::string division, submitter;     ///< as written; "" when absent
  std::string processor, accelerator;  ///< model names; "" when absent
};

/// Means over the runs that count for the score; absent if a counted run lacks the figure.
struct OlympicMeans {
  std::optional<double> epochs_to_target, epochs_run, n_evals, staging_in_run_s, epoch_s, train_s,
      eval_s, other_s, mean_epoch_s, samples_per_epoch;
  std::optional<double> train_throughput, eval_throughput, run_throughput;  ///< harmonic
  std::optional<double> cached_fraction;  ///< RunTelemetry::cached_fraction()
};

/// A set compared with the smallest one with the same benchmark and hardware.
struct Scaling {
  std::string base;    ///< name of the smallest
  double units = 1.0;  ///< compute units / those of the base
  /// Throughput per unit / that of the base.
  std::optional<double> efficiency, train_efficiency;
};

/// system_fields() (analysis/system_fields.h) has the definitions and units.
struct SystemFacts {
  std::string benchmark;
  bool weak = false;  ///< instances trained at the same time: rated by throughput, not by time
  std::int64_t runs = 0, successful = 0, failed = 0;
  std::int64_t rule_breaking = 0;  ///< of the successful
  std::optional<double> runs_required;
  /// RunFacts::other_unit of the first successful run that has one: the times rest on it.
  std::optional<std::string> other_unit;
  std::optional<double> ttt_min_s, ttt_max_s, ttt_mean_s, ttt_median_s, ttt_stdev_s, epochs_mean;
  Value global_batch_size, number_of_ranks;
  Disclosure disclosed;
  std::optional<double> compute_units;
  std::optional<double> scaling_factor;

  std::optional<double> olympic_mean_s, olympic_stdev_s, olympic_epochs_stdev;
  std::vector<std::string> olympic_files;  ///< in order of time
  std::optional<double> score_s;           ///< unscaled; absent if too few runs keep all rules
  std::vector<std::string> score_files;    ///< the runs in score_s, in order of time
  OlympicMeans olympic;
  std::optional<Variation> variation;  ///< of the runs in olympic_files

  std::optional<double> ttta_s, instance_scale;  ///< weak sets only

  DescribedSystem description;
  std::optional<Scaling> scaling;  ///< absent without a smaller set on the same hardware

  /// Whether the set has fewer runs than the rules of its benchmark ask for.
  bool lacks_runs() const { return runs_required && static_cast<double>(runs) < *runs_required; }
  /// Devices of one node, "4 NVIDIA V100, 2 Intel Xeon"; "" if unknown.
  std::string hardware() const;
  /// Samples trained and evaluated per compute unit and second of an epoch.
  std::optional<double> epoch_throughput_per_unit() const;
  std::optional<double> train_throughput_per_unit() const;
};

/// Whether two names of organisations differ in letters or digits. "Fujitsu/RIKEN" names both, so
/// it is no other than "Fujitsu". False if one is empty.
bool is_other_organisation(const std::string& one, const std::string& other);

/// Whether the instances in `folder` were trained at the same time: weak/BENCHMARK.
bool is_weak_folder(const std::filesystem::path& folder);

/// Whether logs in `folder` belong to a set; false for pruned_results, logs and the like.
bool counts_for_a_set(const std::filesystem::path& folder);

struct NamedSystem {
  std::string name;
  SystemFacts* facts = nullptr;
};
/// Sets SystemFacts::scaling of each set for which `systems` has a smaller one.
void relate_scales(const std::vector<NamedSystem>& systems);
/// What caches have to do with it that a set has more throughput per unit than `smallest`, its
/// scaling_base: they gave a part of the samples that is larger by at least 1 % of all. "" if they
/// did not, or if the efficiency is not above 100.0 %.
std::string cause_above_one(const SystemFacts& facts, const SystemFacts& smallest);

}  // namespace analysis
