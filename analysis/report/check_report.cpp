// The verdict on each log.
// Hides threads, files, and the choice of a round.
#include "analysis/report/check_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>

#include "analysis/audit.h"
#include "analysis/find_logs.h"
#include "analysis/log_parser.h"
#include "analysis/report/log_rounds.h"
#include "analysis/report/sets.h"
#include "analysis/submission/reference_points.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace analysis::report {
namespace {

namespace fs = std::filesystem;
using mllog::rules::Choice;
using mllog::rules::Judge;
using mllog::rules::Judgement;
using mllog::rules::RuleBook;
using mllog::rules::Ruleset;

/// The rules of each round that is asked for, made once.
class Rulesets {
 public:
  explicit Rulesets(const RuleBook& book) : book_(book) {}

  const Ruleset& of(const mllog::rules::Round& round) {
    const std::lock_guard lock(mutex_);
    auto found = made_.find(&round);
    if (found == made_.end()) found = made_.emplace(&round, book_.ruleset(round)).first;
    return found->second;
  }

 private:
  const RuleBook& book_;
  std::mutex mutex_;
  std::map<const mllog::rules::Round*, Ruleset> made_;
};

/// Of a log of a round that nothing is known of here.
void set_unknown(const std::string& ruleset, const std::string& reason, CheckedFile& file) {
  mllog::rules::KeyFinding found;
  found.finding.severity = mllog::Finding::Severity::kNote;
  found.finding.text = reason;
  found.finding.rule = "log/format";
  file.judgement = {};
  file.judgement.ruleset = ruleset;
  file.judgement.findings.push_back(found);
  file.verdict = Verdict::kUnknown;
  file.unknown_because = reason;
}

/// Whether the round has no rules of the log's benchmark, so that only those of all were applied.
bool has_common_rules_alone(const mllog::rules::Judgement& judgement) {
  return std::ranges::any_of(judgement.findings, [](const auto& found) {
    return found.finding.severity == mllog::Finding::Severity::kNote &&
           found.finding.rule.ends_with("/then");
  });
}

void set_verdict(const Choice& choice, CheckedFile& file) {
  file.verdict = file.judgement.passes ? Verdict::kSuccess : Verdict::kFail;
  if (file.verdict == Verdict::kFail || !has_common_rules_alone(file.judgement)) return;
  file.verdict = Verdict::kUnknown;
  const std::string benchmark =
      file.facts ? file.facts->config_text(mllog::keys::kSubmissionBenchmark) : "";
  file.unknown_because = fmt::format(
      "what {} asks of {} in this division is not known here; the log breaks none of the rules "
      "that all benchmarks share",
      choice.round->name(), benchmark.empty() ? "its benchmark" : benchmark);
}

class Checker {
 public:
  /// `collects`: what the RCP test and the check of a submission need of each log.
  Checker(const RuleBook& book, const JudgingOptions& options, bool collects)
      : book_(book), options_(options), collects_(collects), rulesets_(book) {}

  /// Throws SystemError for what cannot be read; then `choice` may be absent.
  CheckedFile check(const FoundLog& log, const std::optional<Choice>& choice) {
    if (log.path != kStandardInput) {
      std::ifstream in = open_log(log.path);
      return check(log, in, choice ? *choice : choose_by_content(book_, options_.wanted, in));
    }
    std::istream* const in = options_.reading.standard_input;
    if (in == nullptr) throw base::SystemError("standard input: cannot be read here");
    if (const auto told = mllog::rules::choose_by_path(book_, options_.wanted, "")) {
      return check(log, *in, *told);
    }
    std::stringstream kept;  // to be read twice
    if (in->peek() != std::istream::traits_type::eof()) kept << in->rdbuf();
    return check(log, kept, choose_by_content(book_, options_.wanted, kept));
  }

 private:
  CheckedFile check(const FoundLog& log, std::istream& in, const Choice& choice) {
    CheckedFile file;
    file.name = log.name;
    file.folder = log.folder;
    file.path = log.path;
    file.why_this_ruleset = choice.why;
    file.round = {choice.round->usage, choice.round->number};
    if (choice.round->no_rules_because.empty()) {
      Judge judge(rulesets_.of(*choice.round), options_.warnings);
      read(in, &judge, file);
      set_verdict(choice, file);
    } else {
      set_unknown(
          choice.round->ruleset(),
          fmt::format("{} is not judged: {}", choice.round->name(), choice.round->no_rules_because),
          file);
      read(in, nullptr, file);
    }
    return file;
  }

  /// Verdict, audit, and what a set needs, in one pass. No `judge`: the verdict stays as it is.
  void read(std::istream& in, Judge* judge, CheckedFile& file) const {
    mllog::RecordReader reader(in);
    LogCollector collector(reader);
    std::optional<submission::PackageLogCollector> package;
    if (collects_) package.emplace(file.round.round);
    while (const std::optional<mllog::LogItem> item = reader.next()) {
      std::visit(
          [&](const auto& one) {
            if (judge) judge->add(one);
            collector.add(one);
            if (package) package->add(one);
          },
          *item);
    }
    if (judge) file.judgement = judge->judgement();
    ParsedLog log = std::move(collector).log();
    file.facts = facts_of(log, file.round.round);
    file.audit = std::move(log.findings);
    for (Finding& finding : audit(log, *file.facts)) file.audit.push_back(std::move(finding));
    if (!package) return;
    file.package = package->log();
    file.package->rcp.name = file.path.filename().string();
    file.package->complies = file.judgement.passes;
    if (!options_.test_convergence) return;  // the check of a submission tells them
    for (const Finding& finding : file.package->rcp.findings) file.audit.push_back(finding);
  }

  const RuleBook& book_;
  const JudgingOptions& options_;
  bool collects_;
  Rulesets rulesets_;
};

CheckReport check_found(const FoundLogs& found, const RuleBook& book, const JudgingOptions& options,
                        bool collects) {
  CheckReport report;
  for (const UnusablePath& path : found.problems) {
    report.problems.push_back({path.path, path.reason, path.missing});
  }
  // Each in its place, so that the report does not depend on who was first. A fault of the rules is
  // none of the log's, and ends all.
  Checker checker(book, options, collects);
  std::vector<std::variant<CheckedFile, Problem>> checked(found.logs.size());
  const std::vector<std::optional<Choice>> choices =
      choose_rounds(found.logs, book, options.wanted, options.reading.threads);
  base::for_each_index(checked.size(), options.reading.threads, [&](std::size_t i) {
    try {
      checked[i] = checker.check(found.logs[i], choices[i]);
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

/// The audit of each folder's logs together.
std::vector<CheckedSet> audited_sets(const std::vector<CheckedFile>& files) {
  std::vector<PlacedRun> placed;
  for (const CheckedFile& file : files) {
    if (!file.facts || file.path == kStandardInput) continue;
    placed.push_back({&file.folder, &file.path, &*file.facts});
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
    if (file.folder != set.name || !file.package) continue;
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

/// What the check of a submission tells of folders under its own rules.
void leave_out_told(std::vector<CheckedSet>& sets) {
  constexpr std::array kTold = {Rule::kRunCount,
                                Rule::kTooManyFailed,
                                Rule::kSeedRepeated,
                                Rule::kSystemDescriptionMissing,
                                Rule::kSystemNodesDiffer,
                                Rule::kSystemAcceleratorsDiffer,
                                Rule::kSystemDivisionDiffers,
                                Rule::kSideFileDamaged};
  for (CheckedSet& set : sets) {
    std::erase_if(set.audit, [&](const Finding& finding) {
      return std::any_of(kTold.begin(), kTold.end(),
                         [&](Rule rule) { return finding.rule == audit_rule(rule).id; });
    });
  }
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSuccess:
      return "SUCCESS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kUnknown:
      return "UNKNOWN";
  }
  return "";
}

std::size_t CheckReport::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      files, [&](const CheckedFile& file) { return file.verdict == verdict; }));
}

std::vector<SubmissionTotals> totals_of(const CheckedSubmission& checked) {
  std::vector<SubmissionTotals> all;
  for (const std::string& name : checked.submissions) {
    SubmissionTotals one{name, 0, 0};
    for (const submission::PackageFinding& found : checked.report.findings) {
      if (name != "." && found.path != name && !found.path.starts_with(name + "/")) continue;
      if (!found.finding.suppressed_because.empty()) continue;
      if (found.finding.severity == Finding::Severity::kError) ++one.errors;
      if (found.finding.severity == Finding::Severity::kWarning) ++one.warnings;
    }
    all.push_back(std::move(one));
  }
  return all;
}

CheckReport check_logs(const std::vector<std::string>& paths, const RuleBook& book,
                       const JudgingOptions& options) {
  CheckReport report = check_found(find_logs(paths), book, options, options.test_convergence);
  // Who names logs one by one does not say that they are all of their folder.
  const bool names_logs = std::all_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code failed;
    return fs::is_regular_file(path, failed);
  });
  if (!names_logs || options.test_convergence) report.sets = audited_sets(report.files);
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
  CheckReport report = check_found(logs_of(tree), book, of_round, true);
  for (CheckedFile& file : report.files) file.why_this_ruleset = choice.why;
  report.sets = audited_sets(report.files);
  leave_out_told(report.sets);

  std::map<fs::path, const CheckedFile*> files;
  for (const CheckedFile& file : report.files) files[file.path] = &file;
  const auto read = [&](const fs::path& log) {
    const auto found = files.find(log);
    if (found != files.end()) return *found->second->package;
    submission::PackageLog unreadable;  // the report's problems tell more
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

}  // namespace analysis::report
