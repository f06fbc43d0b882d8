// Compares the newest runs of a kind with the last good ones before them.
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

/// One figure: means over the runs before and now.
struct ChangedFigure {
  std::string name, unit;
  double before = 0.0, now = 0.0;
  double slower = 1.0;  ///< ratio; above 1 is worse, whatever the figure
  std::optional<double> p_value;
  Change change = Change::kTooFew;
};

/// Runs of one workload, system and configuration.
struct Trend {
  std::string workload, system;
  std::map<std::string, std::string> settings;  ///< those that is_comparable() accepts
  std::string revision, before_revision;        ///< newest, and the last good one before
  std::vector<std::string> logs, before_logs;
  std::size_t failed = 0;              ///< of the newest
  std::vector<ChangedFigure> figures;  ///< time to train, throughput, if both sides have them
  Change change = Change::kTooFew;     ///< kFailing, or the worst of `figures`
};

/// For each kind of run, compares the runs of the newest revision that reached their target with
/// those of the last revision before it whose runs all did. Kinds without such a revision have no
/// trend. `runs`: newest first. Runs without a revision, without an end, or that were resumed are
/// left out. p-values are adjusted for all trends together.
std::vector<Trend> trends_of(const std::vector<PastRun>& runs, std::uint64_t seed);

/// The trend as a sentence.
std::string sentence(const Trend& trend);

const std::vector<std::pair<std::string, std::string>>& trend_definitions();

}  // namespace analysis::history
