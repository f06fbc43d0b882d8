// Plans a package: the files that it will hold, and the reasons to refuse it.
#include "analysis/command/package_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/audit_rules.h"
#include "analysis/command/implementation_readme.h"
#include "analysis/command/run_set_folder.h"
#include "analysis/command/run_window.h"
#include "analysis/side_files.h"
#include "analysis/submission/package_facts.h"
#include "analysis/submission/package_tree.h"
#include "analysis/systems.h"
#include "runner/base/strict_json.h"
#include "runner/mllog/keys.h"

namespace analysis::command {
namespace {

namespace fs = std::filesystem;
namespace keys = mllog::keys;
using nlohmann::json;
using Runs = std::vector<const CheckedFile*>;

/// A folder name that paths and the repository check accept: "A/B C" -> "A+B_C".
std::string folder_name(const std::string& org) {
  std::string name = org;
  std::replace(name.begin(), name.end(), '/', '+');
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// Why a run does not count for a result; "" if it does.
std::string why_failed(const CheckedFile& run) {
  if (!run.facts) return "cannot be read";
  if (!run.judgement.passes) return "breaks the rules of the round";
  const Outcome outcome = run.facts->outcome;
  const bool is_good = outcome == Outcome::kSuccess || outcome == Outcome::kTargetUnknown;
  return is_good ? "" : to_string(outcome);
}

/// Makes the plan for one request, folder by folder.
class Planner {
 public:
  Planner(const PackageRequest& request, PackagePlan& plan) : request_(request), plan_(plan) {}

  void describe_system();
  void add(const RunSetFolder& folder);
  /// The folder with only the runs that make a result.
  RunSetFolder chosen(const RunSetFolder& folder);

 private:
  void refuse(const std::string& text) { plan_.refusals.push_back(text); }
  void note(const std::string& text) { plan_.notes.push_back(text); }
  void compare(const json& description, const char* field, const std::string& expected,
               const char* option);
  bool is_weak(const RunSetFolder& folder) const {
    return request_.round.has_scaling_folders() && (request_.is_weak || folder.is_together);
  }
  std::string benchmark_of(const RunSetFolder& folder);
  void require_value(const RunSetFolder& folder, const char* key, const std::string& expected,
                     const std::string& setting);
  void judge_identity(const RunSetFolder& folder);
  void judge_runs(const RunSetFolder& folder, const Runs& runs);
  void judge_count(const RunSetFolder& folder, const Runs& runs, const std::string& benchmark,
                   bool is_weak);
  void judge_failures(const RunSetFolder& folder, const Runs& runs, const std::string& benchmark);
  void judge_configs(const RunSetFolder& folder, const Runs& runs);
  Runs prune(const RunSetFolder& folder, Runs& pruned);
  fs::path target_of(const std::string& benchmark, bool is_weak) const;
  void add_logs(const Runs& runs, const Runs& pruned, const fs::path& target);
  void add_power(const CheckedFile& run, const fs::path& target);
  void add_implementation(const RunSetFolder& folder, const Runs& runs,
                          const std::string& benchmark);

  const PackageRequest& request_;
  PackagePlan& plan_;
  std::string system_name_;  ///< from the description
};

void Planner::compare(const json& description, const char* field, const std::string& expected,
                      const char* option) {
  const auto found = description.find(field);
  const bool is_same =
      found != description.end() && found->is_string() && found->get<std::string>() == expected;
  if (is_same) return;
  refuse(
      fmt::format("{}: {}: expected '{}', found {}; to change it: trainmark system {} '{}' "
                  "--json {}",
                  request_.system.generic_string(), field, expected,
                  found == description.end() ? "none" : base::brief_json(*found), option, expected,
                  request_.system.generic_string()));
}

void Planner::describe_system() {
  std::string problem;
  const auto text = read_side_text(request_.system, problem);
  const json description = text ? side_object(*text, problem) : json::object();
  if (!problem.empty()) {
    refuse(fmt::format("{}: {}; trainmark system --json FILE writes a description",
                       request_.system.generic_string(), problem));
    return;
  }
  compare(description, "submitter", request_.org, "--submitter");
  compare(description, "division", request_.division, "--division");
  const auto name = description.find("system_name");
  if (name != description.end() && name->is_string()) system_name_ = name->get<std::string>();
  plan_.files.push_back({fs::path("systems") / request_.system.filename(), request_.system, ""});
}

std::string Planner::benchmark_of(const RunSetFolder& folder) {
  std::set<std::string> names;
  for (const CheckedFile* run : folder.runs) {
    if (run->facts) names.insert(run->facts->config_text(keys::kSubmissionBenchmark));
  }
  if (names.size() != 1 || names.begin()->empty()) {
    refuse(fmt::format("{}: expected logs of one benchmark, found {}", folder.name(),
                       names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '"))));
    return "";
  }
  const std::vector<std::string> known =
      submission::benchmarks_of_round(request_.round.usage, request_.round.round);
  if (!known.empty() && std::ranges::find(known, *names.begin()) == known.end()) {
    refuse(fmt::format("{}: {} is no benchmark of {} {}; those are {}", folder.name(),
                       *names.begin(), request_.round.usage, request_.round.round,
                       fmt::join(known, ", ")));
    return "";
  }
  return *names.begin();
}

void Planner::require_value(const RunSetFolder& folder, const char* key,
                            const std::string& expected, const std::string& setting) {
  std::map<std::string, Runs> others;
  for (const CheckedFile* run : folder.runs) {
    if (!run->facts) continue;
    const std::string value = run->facts->config_text(key);
    if (value != expected) others[value].push_back(run);
  }
  for (const auto& [value, runs] : others) {
    refuse(
        fmt::format("{}: {}: expected '{}', found '{}' in {}; logs are never changed: run "
                    "again with --set {}='{}'",
                    folder.name(), key, expected, value, names_of(runs), setting, expected));
  }
}

void Planner::judge_identity(const RunSetFolder& folder) {
  require_value(folder, keys::kSubmissionOrg, request_.org, "submission.org");
  require_value(folder, keys::kSubmissionDivision, request_.division, "submission.division");
  std::set<std::string> platforms;
  for (const CheckedFile* run : folder.runs) {
    if (run->facts) platforms.insert(run->facts->config_text(keys::kSubmissionPlatform));
  }
  if (platforms.size() > 1) {
    refuse(
        fmt::format("{}: {}: expected one in all logs, found '{}'; run again with --set "
                    "submission.platform=NAME",
                    folder.name(), keys::kSubmissionPlatform, fmt::join(platforms, "', '")));
  } else if (!platforms.empty() && !system_name_.empty() && *platforms.begin() != system_name_) {
    note(fmt::format(
        "{}: {} is '{}', system_name of the description '{}'; for the next runs: "
        "--set submission.platform='{}'",
        folder.name(), keys::kSubmissionPlatform, *platforms.begin(), system_name_, system_name_));
  }
  std::map<std::string, Runs> placeholders;
  for (const CheckedFile* run : folder.runs) {
    for (const Finding& finding : run->audit) {
      if (finding.rule == audit_rule(Rule::kPlaceholder).id) {
        placeholders[finding.text].push_back(run);
      }
    }
  }
  for (const auto& [text, runs] : placeholders) {
    refuse(
        fmt::format("{}: a placeholder: {} in {}; run again with --set submission.org=NAME "
                    "submission.platform=NAME",
                    folder.name(), text, names_of(runs)));
  }
}

void Planner::judge_runs(const RunSetFolder& folder, const Runs& runs) {
  Runs resumed;
  std::map<std::string, Runs> seeds;
  for (const CheckedFile* run : runs) {
    if (run->facts && run->facts->resumed) resumed.push_back(run);
    if (!run->package || run->package->seeds.empty()) continue;
    seeds[run->package->seeds.front().seed].push_back(run);
  }
  if (!resumed.empty()) {
    refuse(
        fmt::format("{}: resumed from a checkpoint: {}; such a run has no time to train: train "
                    "it again from the beginning",
                    folder.name(), names_of(resumed)));
  }
  for (const auto& [seed, same] : seeds) {
    if (seed.empty() || same.size() < 2) continue;
    refuse(
        fmt::format("{}: seed {} in {}; every run needs its own: trainmark run --runs N gives "
                    "them",
                    folder.name(), seed, names_of(same)));
  }
}

void Planner::judge_count(const RunSetFolder& folder, const Runs& runs,
                          const std::string& benchmark, bool is_weak) {
  const auto required =
      submission::runs_required(request_.round.usage, request_.round.round, benchmark);
  const auto found = static_cast<std::int64_t>(runs.size());
  if (!required || (is_weak ? found >= *required : found == *required)) return;
  const std::string what =
      found < *required
          ? fmt::format("trainmark run CONFIG --runs {} makes them", *required)
          : fmt::format(
                "give {} consecutive logs in place of the folder, such as {}/result_{{1..{}"
                "}}.txt, or --runs {} if all of them were launched as one group",
                *required, folder.name(), *required, found);
  refuse(fmt::format("{}: expected {}{} runs of {}, found {}; {}", folder.name(),
                     is_weak ? "at least " : "", *required, benchmark, found, what));
}

void Planner::judge_failures(const RunSetFolder& folder, const Runs& runs,
                             const std::string& benchmark) {
  Runs failed;
  for (const CheckedFile* run : runs) {
    if (!why_failed(*run).empty()) failed.push_back(run);
  }
  const std::size_t most = dropped_each_end(benchmark);
  if (failed.size() > most) {
    refuse(fmt::format("{}: {} runs failed, at most {} may: {} ({}); trainmark check tells why",
                       folder.name(), failed.size(), most, names_of(failed),
                       why_failed(*failed.front())));
  } else if (!failed.empty() && failed.front()->judgement.passes) {  // else the check reports it
    note(fmt::format("{}: {} {}: counts as the slowest, which is dropped", folder.name(),
                     names_of(failed), why_failed(*failed.front())));
  }
}

void Planner::judge_configs(const RunSetFolder& folder, const Runs& runs) {
  std::optional<json> first;
  std::string first_name;
  for (const CheckedFile* run : runs) {
    std::string problem;
    const auto config = config_of(run->path, problem);
    if (!problem.empty()) refuse(problem);
    if (!config) continue;
    if (!first) {
      first = config;
      first_name = run->path.filename().string();
      continue;
    }
    const json difference = json::diff(*first, *config);
    if (difference.empty()) continue;
    refuse(fmt::format("{}: the configurations of {} and {} differ at {}; runs of a set have one",
                       folder.name(), first_name, run->path.filename().string(),
                       difference.front().at("path").get<std::string>()));
  }
}

Runs Planner::prune(const RunSetFolder& folder, Runs& pruned) {
  Runs kept;
  std::set<std::string> seeds;
  for (const CheckedFile* run : folder.runs) {
    const std::string name = run->path.filename().string();
    std::string why = folder.pruned.contains(name) ? "set_summary.json" : why_failed(*run);
    const bool has_seed = run->package && !run->package->seeds.empty();
    if (why.empty() && has_seed && !seeds.insert(run->package->seeds.front().seed).second) {
      why = "the seed of an instance before it";
    }
    if (why.empty()) {
      kept.push_back(run);
      continue;
    }
    pruned.push_back(run);
    note(fmt::format("{}: {} goes to pruned_results: {}", folder.name(), name, why));
  }
  return kept;
}

fs::path Planner::target_of(const std::string& benchmark, bool is_weak) const {
  const fs::path system = fs::path("results") / request_.system.stem();
  if (!request_.round.has_scaling_folders()) return system / benchmark;
  return system / (is_weak ? "weak" : "strong") / benchmark;
}

void Planner::add_logs(const Runs& runs, const Runs& pruned, const fs::path& target) {
  int number = 0;
  for (const CheckedFile* run : runs) {
    const std::string name = fmt::format("result_{}", number++);
    plan_.files.push_back({target / (name + ".txt"), run->path, ""});
    add_power(*run, target / "power" / name);
  }
  for (const CheckedFile* run : pruned) {
    plan_.files.push_back(
        {target / "pruned_results" / fmt::format("result_{}.txt", number++), run->path, ""});
  }
}

/// Adds the power measurement of the run, power/result_<i>/ next to the logs. The check of the
/// package judges it, and reports runs without a measurement if others have one.
void Planner::add_power(const CheckedFile& run, const fs::path& target) {
  const fs::path folder = run.path.parent_path() / "power" / run.path.stem();
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) return;
  std::string problem;
  for (const fs::path& entry : submission::entries_of(folder, problem)) {
    if (fs::is_regular_file(entry, failed)) {
      plan_.files.push_back({target / entry.filename(), entry, ""});
    } else {
      refuse(fmt::format("{}: expected files node_<number> and sw_<number>, found no file",
                         entry.generic_string()));
    }
  }
  if (!problem.empty()) refuse(problem);
}

void Planner::add_implementation(const RunSetFolder& folder, const Runs& runs,
                                 const std::string& benchmark) {
  const fs::path target =
      fs::path("benchmarks") / benchmark / "implementations" / request_.system.stem();
  std::string problem;
  const auto config = config_of(runs.front()->path, problem);
  if (!config) {  // not a run of this program
    note(fmt::format("{}: no configuration beside the logs: add the source and how to run it to {}",
                     folder.name(), target.generic_string()));
    return;
  }
  plan_.files.push_back({target / config_name_of(*runs.front()), "", config->dump(2) + "\n"});
  plan_.files.push_back({target / "README.md", "",
                         implementation_readme(folder, runs, benchmark, request_.system.stem())});
}

RunSetFolder Planner::chosen(const RunSetFolder& folder) {
  if (!request_.group_runs || is_weak(folder)) return folder;
  RunWindow window = window_of(folder, *request_.group_runs);
  if (!window.refusal.empty()) refuse(window.refusal);
  if (!window.note.empty()) note(window.note);
  return std::move(window.folder);
}

void Planner::add(const RunSetFolder& folder) {
  for (const std::string& problem : folder.problems) refuse(problem);
  const bool is_weak = this->is_weak(folder);
  const std::string benchmark = benchmark_of(folder);
  judge_identity(folder);
  if (benchmark.empty()) return;
  Runs pruned;
  const Runs runs = is_weak ? prune(folder, pruned) : folder.runs;
  judge_runs(folder, runs);
  judge_count(folder, runs, benchmark, is_weak);
  judge_failures(folder, runs, benchmark);
  judge_configs(folder, runs);
  const auto skipped = left_out_between(folder);
  if (!skipped.empty() && !request_.group_runs) {
    refuse(fmt::format("{}: {} left out between the given logs; runs of a result are consecutive",
                       folder.name(), fmt::join(skipped, ", ")));
  }
  const fs::path target = target_of(benchmark, is_weak);
  for (const PlannedSet& other : plan_.sets) {
    if (other.target == target) {
      refuse(fmt::format("{}: {} has runs of another folder already; one set makes a result",
                         folder.name(), target.generic_string()));
      return;
    }
  }
  plan_.sets.push_back({target, benchmark});
  add_logs(runs, pruned, target);
  if (!runs.empty()) add_implementation(folder, runs, benchmark);
}

}  // namespace

PackagePlan plan_package(const PackageRequest& request, const CheckReport& logs) {
  PackagePlan plan;
  plan.folder = folder_name(request.org);
  Planner planner(request, plan);
  planner.describe_system();
  const std::vector<RunSetFolder> folders = run_set_folders(logs);
  for (const RunSetFolder& folder : folders) planner.add(planner.chosen(folder));
  if (folders.empty()) plan.refusals.emplace_back("expected folders with result_*.txt, found none");
  return plan;
}

}  // namespace analysis::command
