// Verdicts on logs, sets of logs and submissions: the input of the writers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/checked_file.h"
#include "analysis/findings/report.h"
#include "analysis/findings/run_group.h"
#include "analysis/submission/package_check.h"

namespace analysis {

/// The logs of one folder.
struct CheckedSet {
  std::string name;
  std::filesystem::path path;
  std::vector<Finding> audit;                ///< findings about the set as a whole
  std::optional<submission::RcpResult> rcp;  ///< if JudgingOptions request the test
};

/// The set's name; for logs without a folder in their names, the path or own name of their folder.
std::string shown_name(const CheckedSet& set);

/// The result of the check of a submission.
struct CheckedSubmission {
  std::filesystem::path path;  ///< as given
  submission::PackageRound round;
  std::string why_this_round;
  submission::PackageReport report;
  std::vector<std::string> submissions;  ///< by name; "." if `path` is a submission
};

/// Numbers of findings in one submission that are not suppressed.
struct SubmissionTotals {
  std::string name;
  std::int64_t errors = 0, warnings = 0;
};
std::vector<SubmissionTotals> totals_of(const CheckedSubmission& checked);

/// How often an entry of a suppression file matched.
struct SuppressionUse {
  std::string rule, path, reason;
  std::int64_t findings = 0;  ///< suppressed by it
  std::int64_t refused = 0;   ///< matching errors of a submission, which are never suppressed
};

struct CheckReport {
  std::vector<CheckedFile> files;  ///< by name, numbers in names by value
  std::vector<CheckedSet> sets;    ///< by name
  std::vector<Problem> problems;   ///< paths that could not be read
  std::optional<CheckedSubmission> submission;
  std::optional<std::vector<RunGroup>> groups;  ///< if JudgingOptions request them
  std::vector<SuppressionUse> suppressions;     ///< in the order of the file

  std::size_t count(Verdict verdict) const;
};

}  // namespace analysis
