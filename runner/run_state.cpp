// The state of a run in progress.
#include "runner/run_state.h"

#include <utility>

#include "runner/base/units.h"

namespace runner {

double RunState::epochs_done(std::int64_t unfinished) const {
  return static_cast<double>(at.epoch_num - 1) +
         static_cast<double>(at.steps_in_epoch - unfinished) /
             static_cast<double>(workload.info().steps_per_epoch);
}

std::int64_t RunState::steps_between_evaluations() const {
  return config.evaluation.period_steps(workload.info().steps_per_epoch);
}

double RunState::since_start_s() const {
  return outcome.earlier_s +
         static_cast<double>(doors.telemetry.now_ns() - started_ns) / base::kNsPerSecond;
}

void RunState::staging_ended(nlohmann::json facts) {
  if (!cached_data.is_null()) facts["page_cache"] = cached_data;
  log.staging_stop(facts);
  outcome.staging = std::move(facts);
}

void RunState::finish_staging(StagingEnd end_of_it) {
  if (!stages_meanwhile) return;
  const telemetry::Scope scope(doors.telemetry, telemetry::Subsystem::kStaging);
  nlohmann::json facts = workload.finish_staging(end_of_it);
  if (facts.is_null()) return;
  stages_meanwhile = false;
  staging_ended(std::move(facts));
}

bool RunState::end(RunStatus status, std::string reason) {
  outcome.status = status;
  outcome.reason = std::move(reason);
  return false;
}

bool RunState::reached_target() {
  if (outcome.evaluations.empty()) return false;
  if (!outcome.target.main().met_by(outcome.evaluations.back().quality)) return false;
  end(RunStatus::kSuccess, "");
  return true;
}

}  // namespace runner
