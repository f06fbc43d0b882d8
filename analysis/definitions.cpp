// Definitions of figures and of the conventions behind them.
#include "analysis/definitions.h"

#include <string_view>

#include "analysis/run_fields.h"
#include "analysis/staged_fields.h"
#include "analysis/stragglers.h"
#include "analysis/system_fields.h"
#include "runner/telemetry/telemetry.h"

namespace analysis {

const std::vector<std::pair<std::string, std::string>>& conventions() {
  static const std::vector<std::pair<std::string, std::string>> texts = {
      {"order",
       "configuration values are the first in file order; events are ordered by time_ms, ties by "
       "file order"},
      {"run_window",
       "from the first run_start to the first run_stop; without run_stop to the largest time_ms "
       "of the log, and ttt_s is absent"},
      {"evaluations",
       "records of the metric's key at or after run_start that precede run_stop in the file "
       "or have no later time_ms (either is enough), each pair of epoch_num and value once"},
      {"intervals",
       "start and stop of the same epoch_num (blocks: first_epoch_num), earliest open start "
       "first; a stop whose number has no open start closes the earliest open one; an interval "
       "that stays open ends with the run, but in a log without any epoch_stop an epoch ends "
       "where the next one starts; all are cut to the run, and each moment counts once"},
      {"conflicting_keys", "configuration keys that have several different values in the log"},
      {"repeated_keys",
       "configuration keys and one-time events (init, run, cache_clear) that are logged more "
       "than once, and how often"},
      {"convergence",
       "every evaluation that counts: epoch_num as logged, seconds since run_start, quality"},
      {"subsystems",
       "exclusive parts of each rank's time from run_start to run_stop, measured by the run "
       "itself (result_<n>.telemetry.json): smallest, mean and largest over the ranks; percent "
       "is of the mean wall time"},
      {"step_histogram",
       "number of training steps of all ranks that took at least low_s and less than high_s"},
      {"layers_s",
       "seconds of a training step in each layer, forward and backward, means over the traced "
       "steps "
       "of all ranks (result_<n>.trace.json)"},
      {"traced_step_s",
       "seconds of a training step, means over the traced steps and all ranks; compute_s and "
       "exchange_s are its parts"},
      {"compute_s", "the part of a traced step that is not spent in communication"},
      {"exchange_s",
       "the part of a traced step that training spends in communication: waiting, packing, adding "
       "up"},
      {"transfers",
       "messages of a traced step by name, means over steps and ranks: in_flight_s with at least "
       "one under way, exposed_s the part of it that training spends in communication, hidden_s "
       "the part behind work, isolated_s what they take alone, measured after training (null: not "
       "measured); bytes that a rank sends. \"all\" counts each moment once"},
      {"stragglers", straggler_definition()},
      {"slow_exchange", slow_exchange_definition()},
      {"staged_sets",
       "what the run tells of its staging in the metadata of staging_stop, by set of samples and "
       "over all nodes"},
      {"staged_sets.slowest", slowest_definition()},
      {"parts",
       "the run by its log's records: staging, train, eval, other; if evaluations run at the same "
       "time as training, train_and_eval is everything outside staging and other"},
  };
  return texts;
}

std::string definition_of(const std::string& name) {
  if (const auto* field = find_field(run_fields(), name)) return field->definition;
  if (const auto* field = find_field(system_fields(), name)) return field->definition;
  for (const auto& [convention, text] : conventions()) {
    if (convention == name) return text;
  }
  constexpr std::string_view kOfSet = "staged_sets.";
  if (name.starts_with(kOfSet)) {
    const auto* field = find_field(staged_fields(), name.substr(kOfSet.size()));
    return field != nullptr ? field->definition : "";
  }
  for (int i = 0; i < telemetry::kCounterCount; ++i) {
    const auto counter = static_cast<telemetry::Counter>(i);
    if (telemetry::to_string(counter) == name) return telemetry::counter_definition(counter);
  }
  return "";
}

}  // namespace analysis
