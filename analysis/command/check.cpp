// `trainmark check`.
#include "analysis/command/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "analysis/command/check_lists.h"
#include "analysis/command/outputs.h"
#include "analysis/command/scaling_files.h"
#include "analysis/findings/check_logs.h"
#include "analysis/findings/convergence_plot.h"
#include "analysis/findings/judged_files.h"
#include "analysis/findings/run_groups.h"
#include "analysis/findings/suppressions.h"
#include "analysis/report/json/check.h"
#include "analysis/report/json/sarif.h"
#include "analysis/report/svg/plot.h"
#include "analysis/report/text/check.h"
#include "analysis/report/text/plot.h"
#include "analysis/report/xml/junit.h"
#include "runner/base/printable.h"
#include "runner/base/system_facts.h"

namespace analysis::command {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;
using base::ExitCode;
using mllog::rules::RuleBook;
using mllog::rules::Wanted;

/// The number of requested lists.
int lists_in(const CheckOptions& options) {
  return (options.rules.empty() ? 0 : 1) + (options.rounds ? 1 : 0) +
         (options.rcps.empty() ? 0 : 1) + (options.explain.empty() ? 0 : 1);
}

void require_paths(const CheckOptions& options) {
  const int lists = lists_in(options);
  if (lists > 1) {
    throw ConfigError("check: expected one of --rules, --rounds, --rcps and --explain, got more");
  }
  if (lists > 0 && !options.paths.empty()) {
    throw ConfigError("check: --rules, --rounds, --rcps and --explain take no PATH, got " +
                      options.paths[0]);
  }
  if (lists == 0 && options.paths.empty()) {
    throw ConfigError(
        "check: expected a PATH, --rules BENCHMARK, --rounds, --rcps BENCHMARK or --explain RULE, "
        "got none");
  }
  if (options.submission && options.paths.size() != 1) {
    throw ConfigError(
        fmt::format("check --submission: expected one PATH, got {}", options.paths.size()));
  }
  const bool reads_input =
      std::find(options.paths.begin(), options.paths.end(), "-") != options.paths.end();
  if (reads_input && (options.rcp || options.submission || options.runs)) {
    throw ConfigError("check: --rcp, --runs and --submission need folders, got standard input");
  }
}

/// An option and what it requires.
struct Needs {
  const char* option;
  bool is_given;
  bool is_met;
  const char* what;
};

void require_consistent(const CheckOptions& options) {
  require_paths(options);
  const bool judges = lists_in(options) == 0;
  const bool tests = options.rcp || options.submission;
  const bool uses_points = tests || !options.rcps.empty();
  for (const Needs& one :
       {Needs{"--rcp", options.rcp, judges, "a PATH"},
        Needs{"--submission", options.submission, judges, "a PATH"},
        Needs{"--runs", options.runs.has_value(), judges && !options.submission,
              "a PATH, and no --submission"},
        Needs{"--sarif", !options.sarif.empty(), judges, "a PATH"},
        Needs{"--junit", !options.junit.empty(), judges, "a PATH"},
        Needs{"--werror", options.werror, judges, "a PATH"},
        Needs{"--rcp-era", !options.rcp_era.empty(), uses_points, "--rcp, --rcps or --submission"},
        Needs{"--custom-rcps", !options.custom_rcps.empty(), uses_points,
              "--rcp, --rcps or --submission"},
        Needs{"--rcp-points", !options.rcp_points.empty(), tests, "--rcp or --submission"},
        Needs{"--rcp-bypass", options.rcp_bypass, tests, "--rcp or --submission"},
        Needs{"--plot", !options.plot.empty(), uses_points, "--rcp, --rcps or --submission"},
        Needs{"--bootstrap", options.bootstrap.has_value(), !options.rcps.empty(), "--rcps"},
        Needs{"--seed", options.seed.has_value(), options.bootstrap.has_value(), "--bootstrap"},
        Needs{"--seed-checker-bypass", options.seed_checker_bypass, options.submission,
              "--submission"},
        Needs{"--write-scaling", options.write_scaling, options.submission, "--submission"},
        Needs{"--suppress", !options.suppress.empty(), judges, "a PATH"},
        Needs{"--fix-hints", options.fix_hints, judges, "a PATH"}}) {
    if (one.is_given && !one.is_met) {
      throw ConfigError(fmt::format("check: {} needs {}", one.option, one.what));
    }
  }
  if (!options.rcp_points.empty() && options.rcp_points != "pruned" &&
      options.rcp_points != "all") {
    throw ConfigError("--rcp-points: must be pruned or all, got " + options.rcp_points);
  }
  if (options.runs && *options.runs < 1) {
    throw ConfigError(fmt::format("check: --runs: expected at least 1, got {}", *options.runs));
  }
  require_files({{"--json", options.json},
                 {"--sarif", options.sarif},
                 {"--junit", options.junit},
                 {"--plot", options.plot}});
}

submission::PackageOptions package_options(const CheckOptions& options) {
  submission::PackageOptions package;
  package.custom_points = options.custom_rcps;
  package.seed_checker_bypass = options.seed_checker_bypass;
  package.rcp.bypass = options.rcp_bypass;
  if (options.rcp_points == "all") package.rcp.points = submission::RcpPoints::kAll;
  package.rcp.era = era_of(options).era;
  return package;
}

/// The input files other than logs.
std::vector<fs::path> rules_read(const CheckOptions& options) {
  std::vector<fs::path> files(options.overlays.begin(), options.overlays.end());
  for (const std::string& file : {options.custom_rcps, options.suppress}) {
    if (!file.empty()) files.emplace_back(file);
  }
  return files;
}

void write_list(const CheckOptions& options, std::ostream& out, std::ostream& messages,
                const Listing& list) {
  std::vector<OutputFile> files;
  for (const auto& [path, content] :
       {std::pair{&options.json, &list.json}, std::pair{&options.plot, &list.svg}}) {
    if (path->empty() || *path == kStandardOutput) continue;
    refuse_to_overwrite(*path, rules_read(options));
    files.push_back({*path, *content});
  }
  write_files(files, messages, options.quiet);
  out << (options.json == kStandardOutput ? list.json : list.text);
  end_output(out);
}

/// Throws before it writes anything if a file would overwrite an input.
void write_report(const CheckOptions& options, std::ostream& out, std::ostream& messages,
                  const CheckReport& report, std::size_t width) {
  std::vector<fs::path> read = rules_read(options);
  std::vector<fs::path> logs;
  for (const CheckedFile& file : report.files) logs.push_back(file.path);
  for (fs::path& file : with_side_files(logs)) read.push_back(std::move(file));
  if (options.submission) read.emplace_back(options.paths[0]);
  std::vector<OutputFile> files;
  const auto add = [&](const std::string& path, const auto& content) {
    if (path.empty() || path == kStandardOutput) return;
    refuse_to_overwrite(path, read);
    files.push_back({path, content()});
  };
  add(options.json, [&] { return report::check_json_text(report); });
  add(options.sarif, [&] {
    const std::string version = base::build_facts()["version"].get<std::string>();
    return report::findings_sarif(judged_files(report), version);
  });
  add(options.junit,
      [&] { return report::findings_junit(judged_files(report), "trainmark check"); });
  const auto plots = options.plot.empty() ? std::vector<ConvergencePlot>()
                                          : convergence_plots(report, package_options(options).rcp);
  add(options.plot, [&] { return report::plots_svg(plots); });
  if (options.write_scaling && report.submission) {
    for (OutputFile& file : scaling_files(*report.submission, messages)) {
      files.push_back(std::move(file));
    }
  }
  write_files(files, messages, options.quiet);
  if (options.json == kStandardOutput) {
    out << report::check_json_text(report);
  } else {
    report::write_check_text(out, report, {options.quiet, options.fix_hints, width});
    if (options.plot == kStandardOutput) report::write_plots_text(out, plots, width);
  }
  end_output(out);
}

void print_suppressions(const CheckReport& report, const std::string& file,
                        std::ostream& messages) {
  for (const SuppressionUse& use : report.suppressions) {
    const std::string entry = fmt::format("{}: {} of {}", file, use.rule, use.path);
    if (use.refused > 0) {
      messages << base::printable(fmt::format("{}: {} not suppressed, as they fail the submission",
                                              entry, use.refused))
               << '\n';
    } else if (use.findings == 0) {
      messages << base::printable(entry + ": no finding left to suppress") << '\n';
    }
  }
}

bool fails(const CheckReport& report) {
  if (report.submission) return !report.submission->report.passes();
  const auto fails_alone = [&](const CheckedFile& file) {
    return file.verdict == Verdict::kFail && !is_of_group(report, file);
  };
  return std::ranges::any_of(report.files, fails_alone) ||
         std::ranges::any_of(report.sets,
                             [](const auto& set) { return set.rcp && set.rcp->fails(); }) ||
         (report.groups && std::ranges::any_of(*report.groups, &RunGroup::is_invalid));
}

/// Whether a requested result is missing.
bool lacks(const CheckReport& report) {
  using submission::RcpOutcome;
  const auto is_open = [](const RunGroup& group) { return !group.choice.problem.empty(); };
  return !report.problems.empty() ||
         (report.groups && std::ranges::any_of(*report.groups, is_open)) ||
         std::any_of(report.sets.begin(), report.sets.end(), [](const CheckedSet& set) {
           return set.rcp && set.rcp->outcome == RcpOutcome::kNoReferencePoints;
         });
}

ExitCode verdict(const CheckReport& report, std::ostream& messages) {
  for (const Problem& problem : report.problems) {
    messages << base::printable(problem.path + ": " + problem.text) << '\n';
  }
  if (fails(report)) return ExitCode::kNonCompliant;
  const bool is_missing = std::any_of(report.problems.begin(), report.problems.end(),
                                      [](const Problem& problem) { return problem.missing; });
  if ((report.files.empty() && !report.submission) || is_missing) return ExitCode::kData;
  if (report.count(Verdict::kUnknown) > 0) return ExitCode::kUnknownVerdict;
  return lacks(report) ? ExitCode::kIncomplete : ExitCode::kSuccess;
}

CheckReport checked(const CheckOptions& options, const RuleBook& book, const Wanted& wanted) {
  JudgingOptions judging;
  judging.wanted = wanted;
  using mllog::rules::Warnings;
  judging.warnings = options.werror ? Warnings::kAreErrors : Warnings::kAllowed;
  judging.reading = {options.threads, options.standard_input};
  judging.test_convergence = options.rcp && !options.submission;  // check_submission() always tests
  judging.group_runs = options.runs;
  judging.package = package_options(options);
  if (options.submission) return check_submission(options.paths[0], book, judging);
  return check_logs(options.paths, book, judging);
}

}  // namespace

ExitCode check(const CheckOptions& options, std::ostream& out, std::ostream& messages,
               std::size_t width) {
  require_consistent(options);
  const RuleBook book(options.overlays);
  const Wanted wanted{options.usage, options.round};
  mllog::rules::require_known(book, wanted);
  if (const auto list = listing(options, book, width)) {
    write_list(options, out, messages, *list);
    return ExitCode::kSuccess;
  }
  std::vector<Suppression> suppressions;
  if (!options.suppress.empty()) suppressions = read_suppressions(options.suppress);
  CheckReport report = checked(options, book, wanted);
  suppress(report, suppressions);
  write_report(options, out, messages, report, width);
  print_suppressions(report, options.suppress, messages);
  return verdict(report, messages);
}

}  // namespace analysis::command
