// Judges logs, sets of logs and submissions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/check_report.h"
#include "analysis/findings/make_report.h"
#include "runner/mllog/rules/choice.h"
#include "runner/mllog/rules/judgement.h"

namespace analysis {

struct JudgingOptions {
  mllog::rules::Wanted wanted;
  mllog::rules::Warnings warnings = mllog::rules::Warnings::kAllowed;
  ReadOptions reading;
  bool test_convergence = false;  ///< the RCP test on each folder's runs
  /// M: each folder holds this many runs, of which some make a result. check_submission() ignores
  /// it.
  std::optional<std::int64_t> group_runs;
  submission::PackageOptions package;  ///< for the RCP test and for check_submission()
};

/// Judges the logs in `paths`, found as make_report() finds them. Reads a log once; if neither
/// options nor path determine its round, also its beginning before that. Standard input is then
/// kept in memory. Throws ConfigError for invalid files of reference points.
CheckReport check_logs(const std::vector<std::string>& paths, const mllog::rules::RuleBook& book,
                       const JudgingOptions& options);

/// Checks `path` as a submission, or as a folder of submissions: each log by the rules of the one
/// round that options, paths or the newest log determine, and the whole as check_package() does.
/// Throws ConfigError if the paths name several rounds, nothing determines a round, or it has no
/// rules.
CheckReport check_submission(const std::string& path, const mllog::rules::RuleBook& book,
                             const JudgingOptions& options);

}  // namespace analysis
