// Groups of M runs, of which N make a result.
#include "analysis/findings/run_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analysis/audit/across.h"
#include "analysis/find_logs.h"
#include "analysis/findings/check_report.h"
#include "analysis/numbers.h"
#include "analysis/systems.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

using Folders = std::map<std::string, std::vector<std::size_t>>;  ///< indices of files by folder

/// Time to train of a run that counts for a score. If the rules of its benchmark are not known, it
/// counts if it reached its target.
std::optional<double> time_of(const CheckedFile& file) {
  if (!file.facts || file.facts->resumed || file.verdict == Verdict::kFail) return std::nullopt;
  if (file.verdict == Verdict::kUnknown && !succeeded(*file.facts)) return std::nullopt;
  return file.facts->ttt_s.value_or(0.0) > 0.0 ? file.facts->ttt_s : std::nullopt;
}

std::string benchmark_of(std::span<const CheckedFile* const> runs) {
  for (const CheckedFile* run : runs) {
    if (!run->facts) continue;
    const std::string name = run->facts->config_text(mllog::keys::kSubmissionBenchmark);
    if (!name.empty()) return name;
  }
  return "";
}

std::vector<const CheckedFile*> files_at(const CheckReport& report,
                                         const std::vector<std::size_t>& files) {
  std::vector<const CheckedFile*> runs;
  for (const std::size_t i : files) runs.push_back(&report.files[i]);
  return runs;
}

bool takes_part(const CheckedFile& file) {
  const auto folder = full_path(file.path).parent_path();
  return file.path != kStandardInput && !is_weak_folder(folder) && counts_for_a_set(folder);
}

/// The group's run that each file is from, as sorted indices in RunChoice::order; empty if one is
/// from none.
std::vector<std::size_t> places_of(const CheckReport& report, const RunGroup& group,
                                   const std::vector<std::size_t>& files) {
  std::vector<std::size_t> places;
  for (const std::size_t i : files) {
    const auto& facts = report.files[i].facts;
    const auto& order = group.choice.order;
    const auto same = std::ranges::find_if(order, [&](std::size_t run) {
      const auto& other = report.files[group.files[run]].facts;
      return facts && other && are_of_one_run(*facts, *other);
    });
    if (same == order.end()) return {};
    places.push_back(static_cast<std::size_t>(same - order.begin()));
  }
  std::ranges::sort(places);
  return places;
}

std::optional<std::size_t> window_of(const std::vector<std::size_t>& places, std::size_t size) {
  if (places.size() != size) return std::nullopt;
  for (std::size_t i = 1; i < size; ++i) {
    if (places[i] != places[i - 1] + 1) return std::nullopt;
  }
  return places.front();
}

CheckedSet& set_of(CheckReport& report, const std::string& folder) {
  const auto found = std::ranges::find(report.sets, folder, &CheckedSet::name);
  if (found != report.sets.end()) return *found;
  const auto file = std::ranges::find(report.files, folder, &CheckedFile::folder);
  report.sets.push_back({folder, folder_of(file->path), {}, {}});
  return report.sets.back();
}

std::string minutes(const std::optional<double>& score_s) {
  return score_s ? fmt::format("{:.4g} min", *minutes_of(score_s)) : "no valid score";
}

/// Reports picked runs that are not the window to submit.
void add_findings_of(CheckReport& report, const RunGroup& group, const PickedRuns& picked) {
  const RunChoice& choice = group.choice;
  const auto add_finding = [&](Rule rule, std::string text) {
    set_of(report, picked.folder).audit.push_back(make_finding(rule, {}, std::move(text)));
  };
  if (!picked.window) {
    std::vector<std::size_t> numbers;
    for (const std::size_t place : picked.places) numbers.push_back(place + 1);
    add_finding(
        Rule::kRunsNotConsecutive,
        fmt::format("runs {} of the {} in {}, by launch; expected {} that follow each other",
                    fmt::join(numbers, ", "), group.files.size(), group.name,
                    choice.runs_required));
  } else if (!choice.chosen) {
    add_finding(
        Rule::kWindowNotMedian,
        fmt::format(
            "window {} of the {} in {} has {}; their median is infinite, so that none makes a "
            "result",
            *picked.window + 1, choice.windows.size(), group.name,
            minutes(choice.windows[*picked.window].score_s)));
  } else if (std::ranges::find(choice.medians, *picked.window) == choice.medians.end()) {
    add_finding(Rule::kWindowNotMedian,
                fmt::format("window {} of the {} in {}, {}; expected window {}, {}, the median",
                            *picked.window + 1, choice.windows.size(), group.name,
                            minutes(choice.windows[*picked.window].score_s), *choice.chosen + 1,
                            minutes(choice.windows[*choice.chosen].score_s)));
  }
}

/// Adds the files to the group that their runs belong to. Returns whether there is one.
bool add_picked(const CheckReport& report, std::vector<RunGroup>& groups, const std::string& folder,
                const std::vector<std::size_t>& files) {
  for (RunGroup& group : groups) {
    const std::vector<std::size_t> places = places_of(report, group, files);
    if (places.empty()) continue;
    group.picked.push_back({folder, places, window_of(places, group.choice.runs_required)});
    return true;
  }
  return false;
}

RunGroup group_of(const CheckReport& report, const std::string& folder,
                  const std::vector<std::size_t>& files) {
  const std::vector<const CheckedFile*> runs = files_at(report, files);
  return {folder, benchmark_of(runs), files, choose_among(runs), {}};
}

}  // namespace

RunChoice choose_among(std::span<const CheckedFile* const> runs) {
  RunChoice none;
  const std::string benchmark = benchmark_of(runs);
  const mllog::Benchmark* const row = mllog::find_benchmark(benchmark);
  if (row == nullptr) {
    none.problem = fmt::format("no rule says how many runs of '{}' make a result", benchmark);
    return none;
  }
  std::vector<GroupRun> group;
  for (const CheckedFile* run : runs) {
    group.push_back({run->path.filename().string(),
                     run->facts ? run->facts->launched_ms : std::nullopt, time_of(*run)});
  }
  return choose_runs(std::move(group),
                     static_cast<std::size_t>(row->runs(runs.front()->round.round)),
                     static_cast<std::size_t>(row->dropped_each_end));
}

void add_run_groups(CheckReport& report, std::int64_t expected) {
  Folders folders;
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    if (takes_part(report.files[i])) folders[report.files[i].folder].push_back(i);
  }
  std::vector<RunGroup> groups;
  const auto has_all = [&](const auto& files) {
    return static_cast<std::int64_t>(files.size()) == expected;
  };
  for (const auto& [folder, files] : folders) {
    if (has_all(files)) groups.push_back(group_of(report, folder, files));
  }
  std::vector<RunGroup> others;
  for (const auto& [folder, files] : folders) {
    if (has_all(files) || add_picked(report, groups, folder, files)) continue;
    others.push_back({folder, benchmark_of(files_at(report, files)), files, {}, {}});
    others.back().choice.problem =
        fmt::format("expected the logs of {} runs, found {}", expected, files.size());
  }
  for (const RunGroup& group : groups) {
    if (group.is_invalid()) {
      set_of(report, group.name)
          .audit.push_back(
              make_finding(Rule::kNoWindow, {},
                           fmt::format("the median of the scores of all {} windows is "
                                       "infinite: too many of the {} runs failed",
                                       group.choice.windows.size(), group.files.size())));
    }
    for (const PickedRuns& picked : group.picked) add_findings_of(report, group, picked);
  }
  std::ranges::move(others, std::back_inserter(groups));
  report.groups = std::move(groups);
}

double normalization_of(const CheckReport& report, const RunGroup& group) {
  const auto set = std::ranges::find(report.sets, group.name, &CheckedSet::name);
  return set == report.sets.end() || !set->rcp ? 1.0 : set->rcp->score_factor();
}

bool is_of_group(const CheckReport& report, const CheckedFile& file) {
  if (!report.groups) return false;
  return std::ranges::any_of(*report.groups, [&](const RunGroup& group) {
    if (!group.choice.problem.empty()) return false;
    return group.name == file.folder ||
           std::ranges::find(group.picked, file.folder, &PickedRuns::folder) != group.picked.end();
  });
}

bool is_left_out(const CheckReport& report, const CheckedFile& file) {
  if (!report.groups) return false;
  const auto group = std::ranges::find(*report.groups, file.folder, &RunGroup::name);
  if (group == report.groups->end() || !group->choice.chosen) return false;
  const auto index = static_cast<std::size_t>(&file - report.files.data());
  const std::vector<std::size_t> chosen = group->chosen_files();
  return std::ranges::find(chosen, index) == chosen.end();
}

}  // namespace analysis
