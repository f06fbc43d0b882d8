// Reads a log in one pass for its verdict, its facts and its audit.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/find_logs.h"
#include "analysis/submission/package_check.h"
#include "runner/mllog/rules/choice.h"
#include "runner/mllog/rules/judge.h"

namespace analysis {

/// kUnknown: the program has no rules for the log's benchmark in its round, and the log breaks none
/// of the rules that all benchmarks share; or it has no rules for the round.
enum class Verdict { kSuccess, kFail, kUnknown };
/// "SUCCESS", "FAIL", "UNKNOWN".
const char* to_string(Verdict verdict);

/// One log and its verdict by the rules of its round.
struct CheckedFile {
  std::string name;    ///< path relative to the PATH it was found under
  std::string folder;  ///< the folder in `name`; "." if there is none
  std::filesystem::path path;
  std::string why_this_ruleset;
  submission::PackageRound round;
  mllog::rules::Judgement judgement;
  Verdict verdict = Verdict::kFail;
  std::string unknown_because;    ///< for kUnknown
  std::vector<Finding> audit;     ///< never affects the verdict
  std::optional<RunFacts> facts;  ///< absent if the log could not be read
  /// Only for the RCP test and the check of a submission.
  std::optional<submission::PackageLog> package;
};

/// What to collect from a log in addition to its verdict and its facts.
enum class Gathered { kNothing, kPackage, kPackageAndConvergence };

/// Checks logs. check() may be called on several threads at once.
class LogChecker {
 public:
  /// `book` must outlive the checker.
  LogChecker(const mllog::rules::RuleBook& book, mllog::rules::Warnings warnings, Gathered gathered)
      : book_(book), warnings_(warnings), gathered_(gathered) {}

  /// Judges the log `in` by the rules of the chosen round.
  CheckedFile check(const FoundLog& log, std::istream& in, const mllog::rules::Choice& choice);

 private:
  const mllog::rules::Ruleset& rules_of(const mllog::rules::Round& round);
  void read(std::istream& in, mllog::rules::Judge* judge, CheckedFile& file) const;

  const mllog::rules::RuleBook& book_;
  mllog::rules::Warnings warnings_;
  Gathered gathered_;
  std::mutex mutex_;
  std::map<const mllog::rules::Round*, mllog::rules::Ruleset> rulesets_;  ///< each built once
};

}  // namespace analysis
