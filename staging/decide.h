// Chooses how a job's samples are read, before anything is copied.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "staging/choose.h"
#include "staging/plan.h"
#include "staging/rates.h"
#include "staging/survey.h"
#include "staging/wanted.h"

namespace staging {

/// How a job will read its samples; the same on every rank, but for the plans.
struct Decision {
  Choice choice;
  Survey survey;
  std::optional<Rates> rates;         ///< nullopt: sizes alone decided
  std::optional<ProbeCounts> probed;  ///< nullopt: not measured
  std::vector<StagingPlan> plans;     ///< by set, of this node; empty for kStream
};

/// Collective over all ranks. For kAuto the mode that takes the least time, or with
/// Afterwards::kKeep the best that copies; for other modes that mode, with what it is expected to
/// take. Measures rates unless the configuration gives them or they cannot matter; so it may read
/// samples, and write a file that has no name near config.directory. Throws what look_around(),
/// measure_rates() and plan_staging() do.
Decision decide(const std::vector<Wanted>& sets, const StagingConfig& config,
                const Outlook& outlook, const Place& place);

/// Of the choice: {"chosen", "reason", "staging_s", "total_s", "break_even_epochs", "modes",
/// "epochs", "epoch_compute_s", "cache_bytes", "rates", "rates_are_given", "probe"}; null where
/// unknown or not measured.
nlohmann::json to_json(const Decision& decision, const StagingConfig& config);

/// A row for each node: {"node", "host", "needed_bytes", "missing_bytes", "free_bytes",
/// "is_in_memory", "staging_s"}.
nlohmann::json node_table(const Decision& decision);

}  // namespace staging
