// The rounds of logs and submissions: by options and paths, else by what logs say.
// Hides which folders make a submission, whose logs have one round.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <vector>

#include "analysis/find_logs.h"
#include "analysis/log_parser.h"
#include "runner/mllog/rules/choice.h"

namespace analysis {

/// What a log that was read says of its round.
mllog::rules::Evidence evidence_of(const ParsedLog& log);

/// The round that the content of a log says. Leaves `in` at its beginning.
mllog::rules::Choice choose_by_content(const mllog::rules::RuleBook& book,
                                       const mllog::rules::Wanted& wanted, std::istream& in);

/// The round of each log; nothing for one that cannot be read, and for standard input. Logs of a
/// submission (below one folder that holds results/, or else in one folder) whose paths tell none
/// have the newest that they tell: submissions bring along logs of earlier rounds.
std::vector<std::optional<mllog::rules::Choice>> choose_rounds(const std::vector<FoundLog>& logs,
                                                               const mllog::rules::RuleBook& book,
                                                               const mllog::rules::Wanted& wanted,
                                                               int threads);

/// The one round of the submissions in `folder`: by options and paths, else the newest of their
/// logs. Throws ConfigError if paths tell several, no log tells one, or it has no rules.
mllog::rules::Choice choose_submission_round(const std::filesystem::path& folder,
                                             const FoundLogs& logs,
                                             const mllog::rules::RuleBook& book,
                                             const mllog::rules::Wanted& wanted);

}  // namespace analysis
