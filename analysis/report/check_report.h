// The verdict on each log, and on what logs make together: the input of the writers.
// Hides how logs are found, how their rounds are chosen, and that several are judged at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/checked_file.h"
#include "analysis/report/report.h"
#include "analysis/report/run_groups.h"
#include "analysis/submission/package_check.h"
#include "runner/mllog/rules/choice.h"
#include "runner/mllog/rules/judge.h"

namespace analysis::report {

/// The logs of one folder.
struct CheckedSet {
  std::string name;
  std::filesystem::path path;
  std::vector<Finding> audit;                ///< what only a set shows
  std::optional<submission::RcpResult> rcp;  ///< where JudgingOptions ask for it
};

/// What the check of a submission says.
struct CheckedSubmission {
  std::filesystem::path path;  ///< as it was given
  submission::PackageRound round;
  std::string why_this_round;
  submission::PackageReport report;
  std::vector<std::string> submissions;  ///< by name; "." where `path` is one
};

/// What was found in one of several submissions, and is not suppressed.
struct SubmissionTotals {
  std::string name;
  std::int64_t errors = 0, warnings = 0;
};
std::vector<SubmissionTotals> totals_of(const CheckedSubmission& checked);

/// What an entry of a file of suppressions did.
struct SuppressionUse {
  std::string rule, path, reason;
  std::int64_t findings = 0;  ///< that it suppressed
  std::int64_t refused = 0;  ///< errors that it names and that fail a submission, suppressed or not
};

struct CheckReport {
  std::vector<CheckedFile> files;  ///< in order of their names, numbers by value
  std::vector<CheckedSet> sets;    ///< by name
  std::vector<Problem> problems;   ///< paths that could not be read
  std::optional<CheckedSubmission> submission;
  std::optional<std::vector<RunGroup>> groups;  ///< where JudgingOptions ask for them
  std::vector<SuppressionUse> suppressions;     ///< in the order of their file

  std::size_t count(Verdict verdict) const;
};

struct JudgingOptions {
  mllog::rules::Wanted wanted;
  mllog::rules::Warnings warnings = mllog::rules::Warnings::kAllowed;
  ReadOptions reading;
  bool test_convergence = false;  ///< of each folder's runs
  /// M: each folder holds this many runs, of which some make a result; not in check_submission().
  std::optional<std::int64_t> group_runs;
  submission::PackageOptions package;  ///< for that test and for check_submission()
};

/// Judges the logs in `paths`, which are found as make_report() finds them. A log is read once;
/// only where neither options nor path tell its round, its beginning is read before. Standard input
/// is then kept in memory. Throws ConfigError for broken files of reference points.
CheckReport check_logs(const std::vector<std::string>& paths, const mllog::rules::RuleBook& book,
                       const JudgingOptions& options);

/// Checks `path` as a submission, or as a folder of submissions: each log by the rules of the one
/// round that options, paths or the newest log tell, and all of it as check_package() does. Throws
/// ConfigError if that round has no rules, or the paths tell several.
CheckReport check_submission(const std::string& path, const mllog::rules::RuleBook& book,
                             const JudgingOptions& options);

}  // namespace analysis::report
