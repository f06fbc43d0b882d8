// The facts of a set of runs on one system.
#include "analysis/findings/system_facts_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "analysis/audit/set.h"
#include "analysis/entry_file.h"
#include "analysis/find_logs.h"
#include "analysis/side_files.h"
#include "analysis/statistics.h"
#include "runner/base/median.h"
#include "runner/base/units.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
namespace keys = mllog::keys;

/// Side files and what is wrong with them.
class SideFiles {
 public:
  explicit SideFiles(std::vector<Finding>& findings) : findings_(findings) {}

  /// The JSON object in `path`; nothing if the file is absent, or damaged, which adds a finding.
  std::optional<nlohmann::json> read(const fs::path& path) {
    std::error_code failed;
    if (!fs::exists(path, failed)) return std::nullopt;
    std::string problem;
    const auto text = read_side_text(path, problem);
    nlohmann::json object;
    if (text) object = side_object(*text, problem);
    if (!problem.empty()) return refuse(path, problem);
    for (const std::string& member : repeated_members(*text)) add_finding(path, member);
    return object;
  }

  /// The factor in `path`; nothing if the file is absent, or damaged, which adds a finding.
  std::optional<double> read_factor(const fs::path& path) {
    const std::optional<nlohmann::json> object = read(path);
    std::string problem;
    const auto factor = object ? scaling_factor(*object, problem) : std::nullopt;
    if (!problem.empty()) refuse(path, problem);
    return factor;
  }

 private:
  void add_finding(const fs::path& path, const std::string& text) {
    findings_.push_back(make_finding(Rule::kSideFileDamaged, {}, path.string() + ": " + text));
  }
  std::nullopt_t refuse(const fs::path& path, const std::string& problem) {
    add_finding(path, problem + "; left out of the figures");
    return std::nullopt;
  }

  std::vector<Finding>& findings_;
};

/// A number, or a string that holds one: submissions write both, and "N/A" for none.
std::optional<double> lenient_number(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return std::nullopt;
  const std::string text = found->get<std::string>();
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole_text = error == std::errc() && end == text.data() + text.size();
  return whole_text && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// <submission>/systems/<system>.json for <submission>/results/<system>/...
fs::path description_of(const fs::path& folder) {
  const fs::path submission = submission_around(folder.parent_path());
  if (submission.empty()) return {};
  const fs::path below = folder.lexically_relative(submission / "results");
  return submission / "systems" / (below.begin()->string() + ".json");
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// As text_of(), but "" for "N/A".
std::string model_of(const nlohmann::json& object, const char* key) {
  const std::string name = text_of(object, key);
  return name == "N/A" ? "" : name;
}

DescribedSystem read_description(const fs::path& folder, SideFiles& files) {
  const auto none = nlohmann::json::object();
  if (const fs::path entry = entry_file_of(folder); !entry.empty()) {
    return read_entry(files.read(entry).value_or(none), entry);
  }
  DescribedSystem description;
  description.path = description_of(folder);
  if (description.path.empty()) return description;
  std::error_code failed;
  description.found = fs::exists(description.path, failed);
  const nlohmann::json object = files.read(description.path).value_or(none);
  description.nodes = lenient_number(object, keys::kNumberOfNodes);
  description.accelerators_per_node = lenient_number(object, keys::kAcceleratorsPerNode);
  description.processors_per_node = lenient_number(object, "host_processors_per_node");
  description.division = text_of(object, "division");
  description.submitter = text_of(object, "submitter");
  description.processor = model_of(object, "host_processor_model_name");
  description.accelerator = model_of(object, "accelerator_model_name");
  return description;
}

std::optional<double> compute_units(const DescribedSystem& description) {
  if (!description.nodes) return std::nullopt;
  const double accelerators = description.accelerators_per_node.value_or(0.0);
  if (accelerators > 0.0) return *description.nodes * accelerators;
  if (!description.processors_per_node) return std::nullopt;
  return *description.nodes * *description.processors_per_node;
}

bool is_faster(const SetMember* one, const SetMember* other) {
  return *one->facts->ttt_s < *other->facts->ttt_s;
}

std::vector<const SetMember*> successful_by_time(const std::vector<SetMember>& members) {
  std::vector<const SetMember*> good;
  for (const SetMember& member : members) {
    if (succeeded(*member.facts)) good.push_back(&member);
  }
  std::ranges::stable_sort(good, is_faster);
  return good;
}

using Read = std::optional<double> (*)(const RunFacts&);

/// The figure of every run; empty if a run lacks it.
std::vector<double> values_of(const std::vector<const SetMember*>& runs, Read read) {
  std::vector<double> values;
  for (const SetMember* run : runs) {
    const auto value = read(*run->facts);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

/// Absent if a run lacks the figure.
std::optional<double> mean(const std::vector<const SetMember*>& runs, Read read) {
  const std::vector<double> values = values_of(runs, read);
  return values.empty() ? std::nullopt : std::optional(mean_of(values));
}

std::optional<double> harmonic_mean(const std::vector<const SetMember*>& runs, Read read) {
  double sum = 0.0;
  for (const SetMember* run : runs) {
    const auto value = read(*run->facts);
    if (!value || *value <= 0.0) return std::nullopt;
    sum += 1.0 / *value;
  }
  if (runs.empty()) return std::nullopt;
  return static_cast<double>(runs.size()) / sum;
}

/// Sample standard deviation; absent for fewer than two runs, and if a run lacks the figure.
std::optional<double> deviation(const std::vector<const SetMember*>& runs, Read read) {
  const std::vector<double> values = values_of(runs, read);
  return values.size() < 2 ? std::nullopt : std::optional(sample_stdev(values));
}

void spread(const std::vector<const SetMember*>& good, SystemFacts& system) {
  const std::vector<double> times =
      values_of(good, [](const RunFacts& facts) { return facts.ttt_s; });
  if (times.empty()) return;
  system.ttt_min_s = times.front();
  system.ttt_max_s = times.back();
  system.ttt_mean_s = mean_of(times);
  if (times.size() > 1) system.ttt_stdev_s = sample_stdev(times);
  system.ttt_median_s = base::median_of(times);
}

/// Samples of training and evaluation per epoch.
std::optional<double> samples_per_epoch(const RunFacts& facts) {
  const auto eval_samples = number(facts.config_value(keys::kEvalSamples));
  const auto samples = facts.progress.samples_run, epochs = facts.progress.epochs_run;
  if (!samples || !eval_samples || epochs.value_or(0.0) <= 0.0) return std::nullopt;
  const auto evaluations = static_cast<double>(facts.evaluations.size());
  return (*samples + evaluations * *eval_samples) / *epochs;
}

OlympicMeans olympic_means(const std::vector<const SetMember*>& runs) {
  OlympicMeans means;
  means.epochs_to_target =
      mean(runs, [](const RunFacts& f) { return f.progress.epochs_to_target; });
  means.epochs_run = mean(runs, [](const RunFacts& f) { return f.progress.epochs_run; });
  means.samples_per_epoch = mean(runs, samples_per_epoch);
  means.n_evals = mean(runs, [](const RunFacts& f) {
    return std::optional(static_cast<double>(f.evaluations.size()));
  });
  means.staging_in_run_s = mean(runs, [](const RunFacts& f) { return f.parts.staging_in_run_s; });
  means.epoch_s = mean(runs, [](const RunFacts& f) { return f.parts.epoch_s; });
  means.train_s = mean(runs, [](const RunFacts& f) { return f.parts.train_s; });
  means.eval_s = mean(runs, [](const RunFacts& f) { return f.parts.eval_s; });
  means.other_s = mean(runs, [](const RunFacts& f) { return f.parts.other_s; });
  means.mean_epoch_s = mean(runs, [](const RunFacts& f) { return f.mean_epoch_s(); });
  means.train_throughput =
      harmonic_mean(runs, [](const RunFacts& f) { return f.train_throughput; });
  means.eval_throughput = harmonic_mean(runs, [](const RunFacts& f) { return f.eval_throughput; });
  means.run_throughput = harmonic_mean(runs, [](const RunFacts& f) { return f.run_throughput; });
  return means;
}

std::optional<Variation> variation_of(const std::vector<const SetMember*>& runs) {
  std::vector<RunPoint> points;
  for (const SetMember* run : runs) {
    points.push_back(
        {run->facts->progress.epochs_run.value_or(0.0), run->facts->mean_epoch_s().value_or(0.0)});
  }
  return analysis::variation_of(points);
}

/// The `count` runs that started first, sorted by time to train.
std::vector<const SetMember*> first_started(std::vector<const SetMember*> runs, std::size_t count) {
  std::ranges::stable_sort(runs, {}, [](const SetMember* run) { return run->facts->run_start_ms; });
  runs.resize(count);
  std::ranges::stable_sort(runs, is_faster);
  return runs;
}

/// The runs that olympic scoring keeps. `good` are the runs that count, by time to train; all
/// others of the set count as failed.
std::vector<const SetMember*> kept(std::vector<const SetMember*> good, const SystemFacts& system,
                                   const std::string& round) {
  const auto runs = static_cast<std::size_t>(system.runs);
  std::size_t failing = runs - good.size();
  const mllog::Benchmark* const row = mllog::find_benchmark(system.benchmark);
  if (const auto count = row ? row->first_converging(round) : std::nullopt) {
    const auto needed = static_cast<std::size_t>(*count);
    if (system.runs_required != static_cast<double>(runs) || good.size() < needed) return {};
    good = first_started(std::move(good), needed);
    failing = 0;
  }
  const auto [first, last] =
      olympic_range(good.size(), failing, dropped_each_end(system.benchmark));
  return {good.begin() + static_cast<std::ptrdiff_t>(first),
          good.begin() + static_cast<std::ptrdiff_t>(last)};
}

std::optional<double> mean_time(const std::vector<const SetMember*>& runs) {
  return mean(runs, [](const RunFacts& facts) { return facts.ttt_s; });
}

void score(std::vector<const SetMember*> by_time, const std::string& round, SystemFacts& system) {
  const std::vector<const SetMember*> good = kept(by_time, system, round);
  system.olympic_mean_s = mean_time(good);
  std::erase_if(by_time, [](const SetMember* run) { return run->breaks_rules; });
  const std::vector<const SetMember*> scored = kept(std::move(by_time), system, round);
  system.score_s = mean_time(scored);
  for (const SetMember* run : scored) system.score_files.push_back(run->file_name);
  if (good.empty()) return;
  system.olympic_stdev_s = deviation(good, [](const RunFacts& f) { return f.ttt_s; });
  system.olympic_epochs_stdev =
      deviation(good, [](const RunFacts& f) { return f.progress.epochs_run; });
  system.variation = variation_of(good);
  for (const SetMember* run : good) system.olympic_files.push_back(run->file_name);
  system.olympic = olympic_means(good);
}

std::optional<double> instance_scale(const RunFacts& facts) {
  const auto nodes = number(facts.config_value(keys::kNumberOfNodes));
  if (!nodes) return std::nullopt;
  const auto accelerators = number(facts.config_value(keys::kAcceleratorsPerNode)).value_or(0.0);
  return *nodes * std::max(accelerators, 1.0);
}

/// For instances trained at the same time: the time from the first start to the last stop, and the
/// scale of an instance.
void rate_instances(const std::vector<const SetMember*>& good, SystemFacts& system) {
  if (good.empty()) return;
  double start = *good.front()->facts->run_start_ms;
  double stop = *good.front()->facts->run_stop_ms;
  for (const SetMember* run : good) {
    start = std::min(start, *run->facts->run_start_ms);
    stop = std::max(stop, *run->facts->run_stop_ms);
  }
  system.ttta_s = (stop - start) / base::kMsPerSecond;
  system.instance_scale = instance_scale(*good.front()->facts);
}

Value first_value(const std::vector<SetMember>& members, const std::string& key) {
  for (const SetMember& member : members) {
    Value value = member.facts->config_value(key);
    if (value != Value()) return value;
  }
  return {};
}

/// Leaves out earlier parts of runs that were resumed.
std::vector<SetMember> whole_runs(const std::vector<SetMember>& logs,
                                  std::vector<Finding>& findings) {
  const auto next = continuations(logs);
  std::vector<SetMember> runs;
  std::string first;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!next[i]) {
      runs.push_back(logs[i]);
    } else if (first.empty()) {
      first = fmt::format("{} goes on in {}", logs[i].file_name, logs[*next[i]].file_name);
    }
  }
  const std::size_t parts = logs.size() - runs.size();
  if (parts > 0) {
    findings.push_back(
        make_finding(Rule::kRunContinued, {},
                     fmt::format("{} {} of resumed runs, first {}: not counted as {}", parts,
                                 parts == 1 ? "earlier part" : "earlier parts", first,
                                 parts == 1 ? "a run" : "runs")));
  }
  return runs;
}

}  // namespace

SystemFacts system_facts_of(const fs::path& folder, const std::vector<SetMember>& logs,
                            std::vector<Finding>& findings) {
  const std::vector<SetMember> members = whole_runs(logs, findings);
  SystemFacts system;
  system.weak = is_weak_folder(folder);
  system.benchmark = to_text(first_value(members, keys::kSubmissionBenchmark));
  if (system.benchmark.empty()) system.benchmark = folder.filename().string();
  const std::string round = members.empty() ? "" : members.front().facts->round;
  if (const mllog::Benchmark* row = mllog::find_benchmark(system.benchmark)) {
    system.runs_required = static_cast<double>(row->runs(round));
  }
  system.global_batch_size = first_value(members, keys::kGlobalBatchSize);
  system.disclosed =
      disclosure_of([&](const std::string& key) { return first_value(members, key); });
  SideFiles files(findings);
  system.description = read_description(folder, files);
  system.compute_units = compute_units(system.description);
  system.scaling_factor = files.read_factor(folder / "scaling.json");

  const std::vector<const SetMember*> good = successful_by_time(members);
  system.runs = static_cast<std::int64_t>(members.size());
  system.successful = static_cast<std::int64_t>(good.size());
  system.failed = system.runs - system.successful;
  system.rule_breaking =
      std::ranges::count_if(good, [](const SetMember* run) { return run->breaks_rules; });
  const auto rests = std::ranges::find_if(
      good, [](const SetMember* run) { return run->facts->other_unit.has_value(); });
  if (rests != good.end()) system.other_unit = (*rests)->facts->other_unit;
  spread(good, system);
  system.epochs_mean = mean(good, [](const RunFacts& f) { return f.progress.epochs_to_target; });
  if (system.weak) {
    system.number_of_ranks = first_value(members, keys::kNumberOfRanks);
    rate_instances(good, system);
  } else {
    score(good, round, system);
  }
  for (Finding& finding : audit_set(system, members, system.description)) {
    findings.push_back(std::move(finding));
  }
  return system;
}

}  // namespace analysis
