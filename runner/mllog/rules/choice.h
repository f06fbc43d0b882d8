// Which round's rules a log should be judged by.
// Hides what speaks for a round: flags, the path, the benchmark, the date.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "runner/mllog/log_format.h"
#include "runner/mllog/rules/rule_book.h"

namespace mllog::rules {

/// What a user asks for; "" where the log decides.
struct Wanted {
  std::string usage;  ///< "training" or "hpc"
  std::string round;  ///< "hpc-3.0", "hpc-3.0.0", "3.0" or "3.0.0"
};

/// What a log says of its round.
struct Evidence {
  std::optional<std::string> benchmark;  ///< the first submission_benchmark
  std::optional<double> time_ms;         ///< the first that can be a date
  LogFormat format = LogFormat::kMllog;  ///< of its records
};

/// Reads until the benchmark and a date are known, which most logs tell in their first lines.
Evidence gather_evidence(std::istream& log);

/// A round, and the reason in one sentence.
struct Choice {
  const Round* round = nullptr;  ///< in the book
  std::string why;
};

/// Checks the flags against the rounds there are. Throws ConfigError for a round that is not there
/// or is not of that usage.
void require_known(const RuleBook& book, const Wanted& wanted);
/// The same, and that the round has rules.
void require_rules(const RuleBook& book, const Wanted& wanted);

/// What flags and path alone say; nothing where they do not fix a round. `path` had best be
/// absolute: the round may stand in any of its folders (hpc_v1.0, training_results_v4.0).
std::optional<Choice> choose_by_path(const RuleBook& book, const Wanted& wanted,
                                     const std::string& path);

/// Where flags and path fix no round: the round whose logs have the format of this one, or among
/// several the earliest that has rules for the benchmark and was published after the log was
/// written, else the newest that has.
Choice choose_by_log(const RuleBook& book, const Wanted& wanted, const Evidence& evidence);

}  // namespace mllog::rules
