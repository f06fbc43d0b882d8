// The rounds of logs and submissions: from options and paths, else from the content of logs.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <vector>

#include "analysis/find_logs.h"
#include "analysis/log_parser.h"
#include "runner/mllog/rules/choice.h"

namespace analysis {

/// What a parsed log reveals about its round.
mllog::rules::Evidence evidence_of(const ParsedLog& log);

/// The round by the content of a log. Rewinds `in` to its beginning.
mllog::rules::Choice choose_by_content(const mllog::rules::RuleBook& book,
                                       const mllog::rules::Wanted& wanted, std::istream& in);

/// The round of each log; absent for standard input and a log that cannot be read. Logs of a
/// submission whose paths do not name a round get the newest round that any of them reveals,
/// because submissions contain logs of earlier rounds. Logs below a folder with results/ are one
/// submission; else logs of one folder are.
std::vector<std::optional<mllog::rules::Choice>> choose_rounds(const std::vector<FoundLog>& logs,
                                                               const mllog::rules::RuleBook& book,
                                                               const mllog::rules::Wanted& wanted,
                                                               int threads);

/// The one round of the submissions in `folder`: from options and paths, else the newest of their
/// logs. Throws ConfigError if the paths name several rounds, nothing determines a round, or it has
/// no rules.
mllog::rules::Choice choose_submission_round(const std::filesystem::path& folder,
                                             const FoundLogs& logs,
                                             const mllog::rules::RuleBook& book,
                                             const mllog::rules::Wanted& wanted);

}  // namespace analysis
