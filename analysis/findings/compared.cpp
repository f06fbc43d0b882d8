// Compares runs, systems and submissions.
#include "analysis/findings/compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <span>

#include "analysis/find_logs.h"
#include "analysis/findings/make_report.h"
#include "analysis/run_settings.h"
#include "runner/base/error.h"
#include "runner/mllog/rules/choice.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using comparison::Side;

/// "A", "B", ... "Z", "S27".
std::string letter(std::size_t path) {
  constexpr std::size_t kLetters = 26;
  if (path >= kLetters) return fmt::format("S{}", path + 1);
  return std::string(1, static_cast<char>('A' + path));
}

std::string round_of(const mllog::rules::RuleBook& book, const RunReport& run) {
  if (run.path == kStandardInput) return "";
  if (auto choice = choose_by_path(book, {}, full_path(run.path).generic_string())) {
    return choice->round->name();
  }
  base::InputFile in = open_log(run.path);
  const auto evidence = mllog::rules::gather_evidence(in);
  return evidence.benchmark ? choose_by_log(book, {}, evidence).round->name() : "";
}

Side side_of(const std::string& path, const SystemReport& system, const Report& report,
             const mllog::rules::RuleBook& book, std::vector<std::string>& damaged) {
  Side side;
  side.name = (fs::path(path) / system.name).lexically_normal().string();
  if (side.name.size() > 1 && side.name.ends_with('/')) side.name.pop_back();
  side.system = &system.facts;
  for (const RunReport& run : report.runs) {
    if (run.folder != system.name) continue;
    if (side.runs.empty()) side.round = round_of(book, run);
    std::map<std::string, std::string> settings;
    try {
      settings = read_settings_of(run.path);
    } catch (const base::DataError& error) {
      damaged.emplace_back(error.what());
    }
    side.runs.push_back({run.path.filename().string(), &run.facts,
                         run.telemetry ? &*run.telemetry : nullptr,
                         run.trace ? &run.trace->layers : nullptr, std::move(settings)});
  }
  return side;
}

Report read(const std::string& path, int threads) {
  Report report = make_report({path}, {.threads = threads, .scores = false});
  for (const Problem& problem : report.problems) {
    if (problem.missing) throw base::DataError(problem.path + ": " + problem.text);
  }
  if (report.readable() == 0) {
    throw base::DataError(path + ": expected logs, found none that can be read");
  }
  if (report.systems.empty()) {
    throw base::DataError(path + ": its logs make no set: they lie among those left out of it");
  }
  return report;
}

/// The sets of one benchmark, by path.
using SetsOfPaths = std::vector<std::vector<ComparedSide>>;

/// The index of the first path's set that `side` is compared with.
std::size_t counterpart(const std::vector<ComparedSide>& first, const ComparedSide& side,
                        comparison::Per per) {
  const auto score = [per](const ComparedSide& one) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    const SystemFacts& facts = one.system->facts;
    const double time_s = facts.olympic_mean_s.value_or(facts.ttt_mean_s.value_or(kNone));
    return time_s * one.side.count(per).value_or(1.0);
  };
  const auto namesake = std::find_if(first.begin(), first.end(), [&](const ComparedSide& one) {
    return one.system->name == side.system->name;
  });
  const auto fastest = std::min_element(
      first.begin(), first.end(),
      [&](const ComparedSide& a, const ComparedSide& b) { return score(a) < score(b); });
  return static_cast<std::size_t>((namesake != first.end() ? namesake : fastest) - first.begin());
}

/// "A", or "A1" and "A2" if several sets of the path are compared for the benchmark.
void label(std::span<ComparedGroup> groups) {
  std::map<std::size_t, std::size_t> all, numbered;
  for (const ComparedGroup& group : groups) {
    for (const ComparedSide& side : group.sides) ++all[side.path];
  }
  for (ComparedGroup& group : groups) {
    for (ComparedSide& side : group.sides) {
      const std::size_t number = ++numbered[side.path];
      side.label = letter(side.path) + (all[side.path] > 1 ? std::to_string(number) : "");
    }
  }
}

void add_groups(const std::string& benchmark, SetsOfPaths sets,
                const std::vector<std::string>& paths, Compared& compared) {
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i].empty()) {
      compared.left_out.push_back(fmt::format("{} has no runs of {}", paths[i], benchmark));
    }
  }
  std::vector<ComparedSide>& first = sets.front();
  if (first.empty()) return;
  const bool is_alone =
      std::all_of(sets.begin() + 1, sets.end(), [](const auto& others) { return others.empty(); });
  std::vector<ComparedGroup> groups(first.size());
  for (std::size_t i = 1; i < sets.size(); ++i) {
    for (ComparedSide& side : sets[i]) {
      groups[counterpart(first, side, compared.per)].sides.push_back(std::move(side));
    }
  }
  const std::size_t before = compared.groups.size();
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (groups[i].sides.empty()) {
      if (!is_alone) {
        compared.left_out.push_back(
            fmt::format("{} ({}): no other set faces it", first[i].side.name, benchmark));
      }
      continue;
    }
    groups[i].benchmark = benchmark;
    groups[i].sides.insert(groups[i].sides.begin(), std::move(first[i]));
    compared.groups.push_back(std::move(groups[i]));
  }
  label(std::span(compared.groups).subspan(before));
}

}  // namespace

Compared compare_paths(const std::vector<std::string>& paths,
                       const comparison::ComparisonOptions& options, int threads) {
  const mllog::rules::RuleBook& book = mllog::rules::embedded_rule_book();
  Compared compared;
  compared.per = options.per;
  std::map<std::string, SetsOfPaths> benchmarks;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Report& report = compared.reports.emplace_back(read(paths[i], threads));
    for (const SystemReport& system : report.systems) {
      SetsOfPaths& sets = benchmarks[system.facts.benchmark];
      sets.resize(paths.size());
      sets[i].push_back(
          {i, "", &system, side_of(paths[i], system, report, book, compared.damaged)});
    }
  }
  for (auto& [benchmark, sets] : benchmarks) {
    add_groups(benchmark, std::move(sets), paths, compared);
  }
  if (compared.groups.empty()) {
    throw base::DataError(fmt::format("{}: expected a benchmark in common with the other paths: {}",
                                      paths.front(), fmt::join(compared.left_out, "; ")));
  }
  for (ComparedGroup& group : compared.groups) {
    std::vector<const Side*> others;
    for (std::size_t i = 1; i < group.sides.size(); ++i) others.push_back(&group.sides[i].side);
    group.comparisons = comparison::compare_runs(group.sides.front().side, others, options);
  }
  return compared;
}

}  // namespace analysis
