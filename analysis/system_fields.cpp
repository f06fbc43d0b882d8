// Table of the figures of a set of runs on one system.
#include "analysis/system_fields.h"

#include "runner/base/units.h"

namespace analysis {
namespace {

using SystemFields = std::vector<Field<SystemFacts>>;

Value share(const std::optional<double>& above, const std::optional<double>& below) {
  return optional_value(quotient(above, below));
}

Value score_min(const SystemFacts& facts) {
  if (!facts.score_s) return {};
  return *facts.score_s / base::kMinute * facts.scaling_factor.value_or(1.0);
}

Value unit_hours(const SystemFacts& facts) {
  if (!facts.compute_units || !facts.olympic_mean_s) return {};
  return *facts.compute_units * *facts.olympic_mean_s / base::kHour;
}

Value staging_to_epoch_ratio(const SystemFacts& facts) {
  if (facts.olympic.staging_in_run_s.value_or(0.0) <= 0.0) return {};
  return share(facts.olympic.staging_in_run_s, facts.olympic.mean_epoch_s);
}

Value models_per_min(const SystemFacts& facts) {
  if (!facts.ttta_s || *facts.ttta_s <= 0.0) return {};
  return static_cast<double>(facts.successful) / (*facts.ttta_s / base::kMinute);
}

Value olympic_files(const SystemFacts& facts) {
  if (facts.olympic_files.empty()) return {};
  std::string all;
  for (const std::string& file : facts.olympic_files) all += (all.empty() ? "" : " ") + file;
  return all;
}

void add_set(SystemFields& table) {
  table.push_back({"benchmark", "", "submission_benchmark of the logs",
                   [](const SystemFacts& s) { return Value(s.benchmark); }});
  table.push_back({"runs", "", "logs in the folder itself (pruned_results, logs do not count)",
                   [](const SystemFacts& s) { return Value(s.runs); }});
  table.push_back({"successful", "",
                   "runs with outcome success that were not resumed and took time",
                   [](const SystemFacts& s) { return Value(s.successful); }});
  table.push_back(
      {"failed", "", "all other runs", [](const SystemFacts& s) { return Value(s.failed); }});
  table.push_back({"rule_breaking", "",
                   "successful runs whose log fails the rules of its round (trainmark check names "
                   "the rules)",
                   [](const SystemFacts& s) { return Value(s.rule_breaking); }});
  table.push_back({"runs_required", "", "number of runs that MLPerf requires for this benchmark",
                   [](const SystemFacts& s) { return whole_if_possible(s.runs_required); }});
  table.push_back(
      {"global_batch_size", "samples", "of the first run that logs it",
       [](const SystemFacts& s) { return whole_if_possible(number(s.global_batch_size)); }});
  table.push_back({"compute_units", "",
                   "nodes * accelerators_per_node, or nodes * host_processors_per_node without "
                   "accelerators, from the submission's systems/<system>.json",
                   [](const SystemFacts& s) { return whole_if_possible(s.compute_units); }});
}

Value text_value(const std::string& text) { return text.empty() ? Value() : Value(text); }

void add_disclosure(SystemFields& table) {
  table.push_back({"precision", "",
                   "the lowest numerical precision in linear layers, attention and communication, "
                   "of the first run that logs it",
                   [](const SystemFacts& s) { return text_value(s.disclosed.precision); }});
  table.push_back(
      {"gradients_sent", "",
       "how gradients of layers travel between nodes where not in full, of the first run that "
       "logs it",
       [](const SystemFacts& s) { return text_value(s.disclosed.gradients); }});
  table.push_back({"parallelism", "",
                   "ranks that share a model's tensors, layers (pipeline), samples (context) and "
                   "experts, of the first run that logs them; data: none does",
                   [](const SystemFacts& s) { return text_value(s.disclosed.parallelism); }});
  table.push_back(
      {"micro_batch_size", "samples", "of the first run that logs it", [](const SystemFacts& s) {
         return whole_if_possible(number(s.disclosed.micro_batch_size));
       }});
  table.push_back({"config_filename", "", "of the first run that logs it",
                   [](const SystemFacts& s) { return text_value(s.disclosed.config_filename); }});
}

void add_times(SystemFields& table) {
  table.push_back({"time_unit", "",
                   "what time_ms of a successful run is, if not milliseconds since 1970; times and "
                   "rates of the set, in seconds as in minutes, take it for milliseconds all the "
                   "same",
                   [](const SystemFacts& s) { return text_value(s.other_unit.value_or("")); }});
  table.push_back({"ttt_min_s", "s", "smallest ttt_s of the successful runs",
                   [](const SystemFacts& s) { return optional_value(s.ttt_min_s); }});
  table.push_back({"ttt_max_s", "s", "largest ttt_s of the successful runs",
                   [](const SystemFacts& s) { return optional_value(s.ttt_max_s); }});
  table.push_back({"ttt_mean_s", "s", "mean ttt_s of the successful runs",
                   [](const SystemFacts& s) { return optional_value(s.ttt_mean_s); }});
  table.push_back({"ttt_median_s", "s", "median ttt_s of the successful runs",
                   [](const SystemFacts& s) { return optional_value(s.ttt_median_s); }});
  table.push_back({"ttt_stdev_s", "s", "sample standard deviation of the successful runs' ttt_s",
                   [](const SystemFacts& s) { return optional_value(s.ttt_stdev_s); }});
  table.push_back({"epochs_mean", "epochs", "mean epochs_to_target of the successful runs",
                   [](const SystemFacts& s) { return optional_value(s.epochs_mean); }});
}

void add_score(SystemFields& table) {
  table.push_back(
      {"olympic_mean_s", "s",
       "mean ttt_s without the fastest and the slowest run (of unet3d four at each "
       "end; of ncf in round 0.5 among the first 50 of 100 runs to start that succeed), "
       "where a failed run counts as the slowest; absent with more failed runs than are "
       "dropped, with no run left, or for instances trained at the same time",
       [](const SystemFacts& s) { return optional_value(s.olympic_mean_s); }});
  table.push_back({"olympic_mean_min", "min", "olympic_mean_s in minutes",
                   [](const SystemFacts& s) { return share(s.olympic_mean_s, base::kMinute); }});
  table.push_back({"scaling_factor", "", "factor in the submission's scaling.json",
                   [](const SystemFacts& s) { return optional_value(s.scaling_factor); }});
  table.push_back({"score_min", "min",
                   "MLPerf score: as olympic_mean_min, but a run whose log breaks the rules of its "
                   "round counts as failed; times scaling_factor (1 if absent); as in the official "
                   "tools, runs fewer than runs_required have one, which no submission may use",
                   score_min});
  table.push_back({"olympic_files", "", "the runs in that mean, in order of time", olympic_files});
}

/// `part` of OlympicMeans as a figure "olympic_<name>".
void add_mean(SystemFields& table, const std::string& name, const std::string& unit,
              std::optional<double> OlympicMeans::*part) {
  const bool harmonic = unit == "samples/s";
  table.push_back({"olympic_" + name, unit,
                   std::string(harmonic ? "harmonic mean of " : "mean ") + name +
                       " of the runs in olympic_files",
                   [part](const SystemFacts& s) { return optional_value(s.olympic.*part); }});
}

void add_fraction(SystemFields& table, const std::string& name,
                  std::optional<double> OlympicMeans::*part, const std::string& source) {
  table.push_back({name, "", source + " / olympic_mean_s", [part](const SystemFacts& s) {
                     return share(s.olympic.*part, s.olympic_mean_s);
                   }});
}

void add_olympic_parts(SystemFields& table) {
  add_mean(table, "epochs_to_target", "epochs", &OlympicMeans::epochs_to_target);
  add_mean(table, "n_evals", "", &OlympicMeans::n_evals);
  add_mean(table, "staging_in_run_s", "s", &OlympicMeans::staging_in_run_s);
  add_mean(table, "epoch_s", "s", &OlympicMeans::epoch_s);
  add_mean(table, "train_s", "s", &OlympicMeans::train_s);
  add_mean(table, "eval_s", "s", &OlympicMeans::eval_s);
  add_mean(table, "other_s", "s", &OlympicMeans::other_s);
  add_mean(table, "train_throughput", "samples/s", &OlympicMeans::train_throughput);
  add_mean(table, "eval_throughput", "samples/s", &OlympicMeans::eval_throughput);
  add_mean(table, "run_throughput", "samples/s", &OlympicMeans::run_throughput);
  add_fraction(table, "staging_fraction", &OlympicMeans::staging_in_run_s,
               "olympic_staging_in_run_s");
  add_fraction(table, "train_fraction", &OlympicMeans::train_s, "olympic_train_s");
  add_fraction(table, "eval_fraction", &OlympicMeans::eval_s, "olympic_eval_s");
  add_fraction(table, "other_fraction", &OlympicMeans::other_s, "olympic_other_s");
  table.push_back({"staging_to_epoch_ratio", "", "olympic_staging_in_run_s / olympic_mean_epoch_s",
                   staging_to_epoch_ratio});
  table.push_back(
      {"compute_unit_hours", "unit hours", "compute_units * olympic_mean_s / 3600", unit_hours});
  table.push_back(
      {"train_throughput_per_unit", "samples/s", "olympic_train_throughput / compute_units",
       [](const SystemFacts& s) { return optional_value(s.train_throughput_per_unit()); }});
}

void add_description(SystemFields& table) {
  table.push_back({"submitter", "", "who submits, from the submission's systems/<system>.json",
                   [](const SystemFacts& s) { return text_value(s.description.submitter); }});
  table.push_back({"division", "",
                   "closed, open or network, from the submission's systems/<system>.json",
                   [](const SystemFacts& s) { return text_value(s.description.division); }});
  table.push_back(
      {"hardware", "",
       "accelerators and processors of a node, from the submission's systems/<system>.json",
       [](const SystemFacts& s) { return text_value(s.hardware()); }});
}

void add_joint(SystemFields& table) {
  table.push_back({"olympic_stdev_s", "s",
                   "sample standard deviation of ttt_s of the runs in olympic_files",
                   [](const SystemFacts& s) { return optional_value(s.olympic_stdev_s); }});
  add_mean(table, "epochs_run", "epochs", &OlympicMeans::epochs_run);
  table.push_back({"olympic_epochs_stdev", "epochs",
                   "sample standard deviation of epochs_run of the runs in olympic_files",
                   [](const SystemFacts& s) { return optional_value(s.olympic_epochs_stdev); }});
  add_mean(table, "mean_epoch_s", "s", &OlympicMeans::mean_epoch_s);
  table.push_back(
      {"olympic_samples_per_epoch", "samples",
       "mean (samples_run + n_evals * eval_samples) / epochs_run of the runs in "
       "olympic_files",
       [](const SystemFacts& s) { return optional_value(s.olympic.samples_per_epoch); }});
  table.push_back(
      {"epoch_throughput_per_unit", "samples/s",
       "olympic_samples_per_epoch / olympic_mean_epoch_s / compute_units",
       [](const SystemFacts& s) { return optional_value(s.epoch_throughput_per_unit()); }});
}

/// A member of an optional part of the facts.
template <class Part>
Value part_value(const std::optional<Part>& part, std::optional<double> Part::*figure) {
  return part ? optional_value((*part).*figure) : Value();
}
template <class Part, class T>
Value part_value(const std::optional<Part>& part, T Part::*figure) {
  return part ? Value((*part).*figure) : Value();
}

void add_variation(SystemFields& table) {
  table.push_back(
      {"variation_share", "",
       "fraction of the variance of (log10 epochs_run, log10 mean_epoch_s) over the runs in "
       "olympic_files that lies along the first principal component",
       [](const SystemFacts& s) { return part_value(s.variation, &Variation::share); }});
  table.push_back(
      {"variation_epochs", "",
       "coordinate of log10 epochs_run in that component, a unit vector whose larger "
       "coordinate is positive",
       [](const SystemFacts& s) { return part_value(s.variation, &Variation::epochs); }});
  table.push_back(
      {"variation_epoch_s", "", "coordinate of log10 mean_epoch_s in it",
       [](const SystemFacts& s) { return part_value(s.variation, &Variation::epoch_s); }});
  table.push_back(
      {"variation_correlation", "",
       "Pearson's correlation of the two logarithms; absent if either is the same in all runs",
       [](const SystemFacts& s) { return part_value(s.variation, &Variation::correlation); }});
}

void add_scaling(SystemFields& table) {
  table.push_back(
      {"scaling_base", "",
       "of the folders with the same benchmark and hardware whose "
       "epoch_throughput_per_unit is known, the one with the fewest compute_units, of "
       "several the one with the largest throughput; absent unless this folder has more "
       "units. All folders read together count, whatever their round and division",
       [](const SystemFacts& s) { return part_value(s.scaling, &Scaling::base); }});
  table.push_back({"scaling_units", "", "compute_units over those of scaling_base",
                   [](const SystemFacts& s) { return part_value(s.scaling, &Scaling::units); }});
  table.push_back(
      {"scaling_efficiency", "", "epoch_throughput_per_unit over that of scaling_base",
       [](const SystemFacts& s) { return part_value(s.scaling, &Scaling::efficiency); }});
  table.push_back(
      {"train_scaling_efficiency", "", "train_throughput_per_unit over that of scaling_base",
       [](const SystemFacts& s) { return part_value(s.scaling, &Scaling::train_efficiency); }});
  table.push_back(
      {"olympic_cached_fraction", "",
       "mean over the runs in olympic_files of the samples that caches gave (in memory, "
       "on disk, of other ranks) over all samples read while training and evaluating, "
       "as telemetry counts them; absent if one of the runs has no such telemetry. "
       "Samples of evaluations are cached only where decoded ones are",
       [](const SystemFacts& s) { return optional_value(s.olympic.cached_fraction); }});
}

void add_weak(SystemFields& table) {
  const auto models = [](const SystemFacts& s) { return s.ttta_s ? Value(s.successful) : Value(); };
  table.push_back({"ttta_s", "s",
                   "instances trained at the same time (folder weak/): largest run_stop - "
                   "smallest run_start of the successful ones",
                   [](const SystemFacts& s) { return optional_value(s.ttta_s); }});
  table.push_back({"models", "", "successful instances", models});
  table.push_back({"models_per_min", "1/min", "models / (ttta_s / 60)", models_per_min});
  table.push_back({"instance_scale", "",
                   "number_of_nodes * accelerators_per_node (at least 1), from the logs",
                   [](const SystemFacts& s) { return whole_if_possible(s.instance_scale); }});
  table.push_back({"number_of_ranks", "", "of the first run that logs it",
                   [](const SystemFacts& s) { return s.number_of_ranks; }});
}

}  // namespace

const std::vector<Field<SystemFacts>>& system_fields() {
  static const SystemFields table = [] {
    SystemFields fields;
    add_set(fields);
    add_disclosure(fields);
    add_times(fields);
    add_score(fields);
    add_olympic_parts(fields);
    add_weak(fields);
    add_description(fields);
    add_joint(fields);
    add_variation(fields);
    add_scaling(fields);
    return fields;
  }();
  return table;
}

}  // namespace analysis
