// The verdict on each log: the input of the writers.
// Hides how logs are found, how their rounds are chosen, and that several are judged at once.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report.h"
#include "runner/mllog/rules/choice.h"
#include "runner/mllog/rules/judge.h"

namespace analysis {

/// One log and what its round's rules say of it.
struct CheckedFile {
  std::string name;  ///< path relative to the PATH it was found under
  std::filesystem::path path;
  std::string why_this_ruleset;
  mllog::rules::Judgement judgement;
  std::vector<Finding> audit;  ///< beside the verdict; it never depends on them
};

struct CheckReport {
  std::vector<CheckedFile> files;  ///< in order of their names, numbers by value
  std::vector<Problem> problems;   ///< paths that could not be read

  std::size_t failed() const;
};

struct JudgingOptions {
  mllog::rules::Wanted wanted;
  mllog::rules::Warnings warnings = mllog::rules::Warnings::kAllowed;
  ReadOptions reading;
};

/// Judges the logs in `paths`, which are found as make_report() finds them. A log is read once;
/// only where neither options nor path tell its round, its beginning is read before. Standard input
/// is then kept in memory.
CheckReport check_logs(const std::vector<std::string>& paths, const mllog::rules::RuleBook& book,
                       const JudgingOptions& options);

}  // namespace analysis
