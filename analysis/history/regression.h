// Whether the newest runs of a kind are slower than the last good ones before them.
// Hides which runs are of one kind, and which of them are good.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/history/past_run.h"

namespace analysis::history {

enum class Change {
  kSlower,   ///< p-value below comparison::kLevel
  kFaster,   ///< likewise
  kSame,     ///< not distinguishable
  kTooFew,   ///< too few runs to tell
  kFailing,  ///< some of the newest failed
  kNothing   ///< no figure that both have
};
const char* to_string(Change change);

/// One figure of both: means of the runs.
struct ChangedFigure {
  std::string name, unit;
  double before = 0.0, now = 0.0;
  double slower = 1.0;  ///< how many times as slow: more is worse, whatever the figure
  std::optional<double> p_value;
  Change change = Change::kTooFew;
};

/// Runs of one workload, system and configuration.
struct Trend {
  std::string workload, system;
  std::map<std::string, std::string> settings;  ///< those that are comparable
  std::string revision, before_revision;        ///< newest, and the last good one before
  std::vector<std::string> logs, before_logs;
  std::size_t failed = 0;              ///< of the newest
  std::vector<ChangedFigure> figures;  ///< time to train, throughput; none without both sides
  Change change = Change::kTooFew;     ///< kFailing, or the worst of them
};

/// Of each kind of run with at least two revisions: the runs of the newest revision that reached
/// their target against those of the last one before whose runs all did. `runs`: newest first. Runs
/// that did not end, or were resumed, are left out. p-values are adjusted for all trends together.
std::vector<Trend> trends_of(const std::vector<PastRun>& runs, std::uint64_t seed);

/// In words.
std::string sentence(const Trend& trend);

const std::vector<std::pair<std::string, std::string>>& trend_definitions();

}  // namespace analysis::history
