// Chooses the round whose rules should judge a log, from flags, the path, the benchmark and the
// date.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "runner/mllog/log_format.h"
#include "runner/mllog/rules/rule_book.h"

namespace mllog::rules {

/// The user's request; "" to let the log decide.
struct Wanted {
  std::string usage;  ///< "training" or "hpc"
  std::string round;  ///< "hpc-3.0", "hpc-3.0.0", "3.0" or "3.0.0"
};

/// What a log reveals about its round.
struct Evidence {
  std::optional<std::string> benchmark;  ///< the first submission_benchmark
  std::optional<double> time_ms;         ///< the first that can be a date
  LogFormat format = LogFormat::kMllog;  ///< of its records
};

/// Reads until the benchmark and a date are known; in most logs they are in the first lines.
Evidence gather_evidence(std::istream& log);

/// A round, and the reason for it in one sentence.
struct Choice {
  const Round* round = nullptr;  ///< owned by the book
  std::string why;
};

/// Checks the flags against the known rounds. Throws ConfigError for an unknown round or one of
/// another usage.
void require_known(const RuleBook& book, const Wanted& wanted);
/// The same; also requires that the round has rules.
void require_rules(const RuleBook& book, const Wanted& wanted);

/// The choice by flags and path alone; nothing if they do not determine a round. `path` should be
/// absolute: any of its folders may name the round (hpc_v1.0, training_results_v4.0).
std::optional<Choice> choose_by_path(const RuleBook& book, const Wanted& wanted,
                                     const std::string& path);

/// The choice if flags and path do not determine a round: the round with the log's format. Among
/// several, the earliest with rules for the benchmark that was published after the log was written,
/// else the newest with such rules.
Choice choose_by_log(const RuleBook& book, const Wanted& wanted, const Evidence& evidence);

}  // namespace mllog::rules
