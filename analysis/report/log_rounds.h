// The rounds of logs whose path names none: one for all logs of a submission.
// Hides which folders make a submission.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "analysis/log_parser.h"
#include "runner/mllog/rules/choice.h"

namespace analysis::report {

/// What a log that was read says of its round.
mllog::rules::Evidence evidence_of(const ParsedLog& log);

/// The newest round among the logs of each submission: those below one folder that holds results/,
/// or else those of one folder. Submissions bring along logs of earlier rounds.
class SubmissionRounds {
 public:
  /// `path` is absolute; `choice` is what the log itself says.
  void add(const std::filesystem::path& path, const mllog::rules::Choice& choice);
  mllog::rules::Choice newest(const std::filesystem::path& path,
                              const mllog::rules::Choice& choice) const;

 private:
  std::map<std::string, mllog::rules::Choice> newest_;  ///< by submission and usage
};

}  // namespace analysis::report
