// Judges logs, and what they make together.
// Hides how logs are found, how their rounds are chosen, and that several are judged at once.
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

}  // namespace analysis
