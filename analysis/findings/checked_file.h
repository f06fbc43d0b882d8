// One log read once: its verdict, its facts and what the audit finds.
// Hides which rules hold in its round, and that verdict and facts come from the same pass.
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

/// kUnknown: what the round asks of this benchmark is not known here, and the log breaks none of
/// the rules that all benchmarks share; or nothing of its round is known.
enum class Verdict { kSuccess, kFail, kUnknown };
/// "SUCCESS", "FAIL", "UNKNOWN".
const char* to_string(Verdict verdict);

/// One log and what its round's rules say of it.
struct CheckedFile {
  std::string name;    ///< path relative to the PATH it was found under
  std::string folder;  ///< the folder in that name, "." when there is none
  std::filesystem::path path;
  std::string why_this_ruleset;
  submission::PackageRound round;
  mllog::rules::Judgement judgement;
  Verdict verdict = Verdict::kFail;
  std::string unknown_because;    ///< of kUnknown
  std::vector<Finding> audit;     ///< beside the verdict; it never depends on them
  std::optional<RunFacts> facts;  ///< of a log that could be read
  /// Where JudgingOptions ask for the RCP test or the check of a submission.
  std::optional<submission::PackageLog> package;
};

/// What is gathered of a log beside its verdict and its facts.
enum class Gathered { kNothing, kPackage, kPackageAndConvergence };

/// Reads logs, several at once.
class LogChecker {
 public:
  /// `book` outlives this.
  LogChecker(const mllog::rules::RuleBook& book, mllog::rules::Warnings warnings, Gathered gathered)
      : book_(book), warnings_(warnings), gathered_(gathered) {}

  /// The log `in`, by the rules of the chosen round.
  CheckedFile check(const FoundLog& log, std::istream& in, const mllog::rules::Choice& choice);

 private:
  const mllog::rules::Ruleset& rules_of(const mllog::rules::Round& round);
  void read(std::istream& in, mllog::rules::Judge* judge, CheckedFile& file) const;

  const mllog::rules::RuleBook& book_;
  mllog::rules::Warnings warnings_;
  Gathered gathered_;
  std::mutex mutex_;
  std::map<const mllog::rules::Round*, mllog::rules::Ruleset> rulesets_;  ///< each made once
};

}  // namespace analysis
