// Judges logs, sets of logs and submissions.
#include "analysis/findings/check_logs.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>

#include "analysis/find_logs.h"
#include "analysis/findings/log_rounds.h"
#include "analysis/findings/run_groups.h"
#include "analysis/findings/sets.h"
#include "analysis/log_file.h"
#include "analysis/submission/reference_points.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using mllog::rules::Choice;
using mllog::rules::RuleBook;

/// `choice` may be absent for standard input and unreadable logs. Throws SystemError for a log that
/// cannot be read.
CheckedFile check_one(const FoundLog& log, const std::optional<Choice>& choice,
                      const RuleBook& book, const JudgingOptions& options, LogChecker& checker) {
  if (log.path != kStandardInput) {
    base::InputFile in = open_log(log.path);
    return checker.check(log, in, choice ? *choice : choose_by_content(book, options.wanted, in));
  }
  std::istream* const in = options.reading.standard_input;
  if (in == nullptr) throw base::SystemError("standard input: cannot be read here");
  if (const auto chosen = mllog::rules::choose_by_path(book, options.wanted, "")) {
    return checker.check(log, *in, *chosen);
  }
  std::stringstream kept;  // to be read twice
  if (in->peek() != std::istream::traits_type::eof()) kept << in->rdbuf();
  return checker.check(log, kept, choose_by_content(book, options.wanted, kept));
}

CheckReport check_found(const FoundLogs& found, const RuleBook& book, const JudgingOptions& options,
                        Gathered gathered) {
  CheckReport report;
  for (const UnusablePath& path : found.problems) {
    report.problems.push_back({path.path, path.reason, path.missing});
  }
  // Results are stored by index, so that their order does not depend on the threads. An error in
  // the rules is not an error of a log: it ends the whole check.
  LogChecker checker(book, options.warnings, gathered);
  std::vector<std::variant<CheckedFile, Problem>> checked(found.logs.size());
  const std::vector<std::optional<Choice>> choices =
      choose_rounds(found.logs, book, options.wanted, options.reading.threads);
  base::for_each_index(checked.size(), options.reading.threads, [&](std::size_t i) {
    try {
      checked[i] = check_one(found.logs[i], choices[i], book, options, checker);
    } catch (const base::SystemError& error) {
      checked[i] = Problem{found.logs[i].name, error.what(), false};
    }
  });
  for (auto& one : checked) {
    if (auto* file = std::get_if<CheckedFile>(&one)) {
      report.files.push_back(std::move(*file));
    } else {
      report.problems.push_back(std::move(std::get<Problem>(one)));
    }
  }
  return report;
}

/// The audit of each folder's logs as a set.
std::vector<CheckedSet> audited_sets(const std::vector<CheckedFile>& files) {
  std::vector<PlacedRun> placed;
  for (const CheckedFile& file : files) {
    if (!file.facts || file.path == kStandardInput) continue;
    placed.push_back({&file.folder, &file.path, &*file.facts, file.verdict == Verdict::kFail});
  }
  std::vector<CheckedSet> sets;
  for (SystemReport& system : systems_of(placed)) {
    sets.push_back(
        {std::move(system.name), std::move(system.path), std::move(system.findings), {}});
  }
  return sets;
}

submission::RcpResult convergence_of(const CheckedSet& set, const CheckReport& report,
                                     const submission::PackageOptions& options) {
  std::vector<submission::RcpRun> runs;
  submission::PackageRound round;
  std::string benchmark;
  for (const CheckedFile& file : report.files) {
    if (file.folder != set.name || !file.package || is_left_out(report, file)) continue;
    if (runs.empty()) round = file.round;
    runs.push_back(file.package->rcp);
    if (benchmark.empty()) benchmark = runs.back().benchmark;
  }
  const auto points =
      submission::points_of(round.usage, round.round, benchmark, options.custom_points);
  return submission::test_convergence(runs, points, options.rcp);
}

FoundLogs logs_of(const submission::PackageTree& tree) {
  FoundLogs found;
  for (const submission::Submission& submission : tree.submissions) {
    for (const submission::BenchmarkFolder& set : submission.benchmarks) {
      for (const fs::path& path : set.results) {
        found.logs.push_back({path, tree.name_of(path), set.name});
      }
    }
  }
  return found;
}

/// Removes the findings that the check of a submission reports under its own rules.
void leave_out_told(std::vector<CheckedSet>& sets) {
  constexpr std::array kTold = {Rule::kRunCount,
                                Rule::kTooManyFailed,
                                Rule::kSeedRepeated,
                                Rule::kSystemDescriptionMissing,
                                Rule::kSystemNodesDiffer,
                                Rule::kSystemAcceleratorsDiffer,
                                Rule::kSystemDivisionDiffers,
                                Rule::kSystemSubmitterDiffers,
                                Rule::kSideFileDamaged};
  for (CheckedSet& set : sets) {
    std::erase_if(set.audit, [&](const Finding& finding) {
      return std::any_of(kTold.begin(), kTold.end(),
                         [&](Rule rule) { return finding.rule == audit_rule(rule).id; });
    });
  }
}

}  // namespace

CheckReport check_logs(const std::vector<std::string>& paths, const RuleBook& book,
                       const JudgingOptions& options) {
  const Gathered gathered =
      options.test_convergence ? Gathered::kPackageAndConvergence : Gathered::kNothing;
  CheckReport report = check_found(find_logs(paths), book, options, gathered);
  // Logs that are named one by one may not be all logs of their folder.
  const bool names_logs = std::all_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code failed;
    return fs::is_regular_file(path, failed);
  });
  if (!names_logs || options.test_convergence) report.sets = audited_sets(report.files);
  if (options.group_runs) add_run_groups(report, *options.group_runs);
  if (!options.test_convergence) return report;
  for (CheckedSet& set : report.sets) set.rcp = convergence_of(set, report, options.package);
  return report;
}

CheckReport check_submission(const std::string& path, const RuleBook& book,
                             const JudgingOptions& options) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) {
    CheckReport report;
    const bool is_there = fs::exists(path, failed);
    report.problems.push_back(
        {path,
         is_there ? "expected the folder of a submission, found a file" : "no such file or folder",
         true});
    return report;
  }
  const Choice choice = choose_submission_round(path, find_logs({path}), book, options.wanted);
  const submission::PackageTree tree =
      submission::read_package_tree(path, {choice.round->usage, choice.round->number});
  JudgingOptions of_round = options;
  of_round.wanted = {choice.round->usage, choice.round->number};
  const Gathered gathered =
      options.test_convergence ? Gathered::kPackageAndConvergence : Gathered::kPackage;
  CheckReport report = check_found(logs_of(tree), book, of_round, gathered);
  for (CheckedFile& file : report.files) file.why_this_ruleset = choice.why;
  report.sets = audited_sets(report.files);
  leave_out_told(report.sets);

  std::map<fs::path, const CheckedFile*> files;
  for (const CheckedFile& file : report.files) files[file.path] = &file;
  const auto read = [&](const fs::path& log) {
    const auto found = files.find(log);
    if (found != files.end()) return *found->second->package;
    submission::PackageLog unreadable;  // report.problems has the reason
    unreadable.unreadable = "cannot be read";
    return unreadable;
  };
  report.submission = {
      path, tree.round, choice.why, submission::check_package(tree, options.package, read), {}};
  for (const submission::Submission& one : tree.submissions) {
    report.submission->submissions.push_back(one.name);
  }
  return report;
}

}  // namespace analysis
