// The verdict on each log, and on what logs make together: the input of the writers.
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

}  // namespace analysis
