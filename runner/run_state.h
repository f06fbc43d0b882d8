// The state of a run in progress, shared by the parts of the run loop.
#pragma once

#include <cstdint>
#include <string>

#include "runner/checkpoint_record.h"
#include "runner/run_config.h"
#include "runner/run_doors.h"
#include "runner/run_log.h"
#include "runner/run_outcome.h"
#include "runner/run_progress.h"
#include "runner/workload.h"

namespace runner {

struct RunState {
  /// All arguments outlive this object.
  RunState(const RunConfig& run_config, Workload& trained, const RunDoors& run_doors)
      : config(run_config),
        workload(trained),
        doors(run_doors),
        log(doors.log),
        progress(doors, workload.info().name) {}

  /// Epochs trained, minus `unfinished` steps.
  double epochs_done(std::int64_t unfinished = 0) const;
  /// 0 if evaluations do not split epochs.
  std::int64_t steps_between_evaluations() const;
  double since_start_s() const;  ///< including the earlier parts of a resumed run
  /// Logs the end of staging, with what cached_data has.
  void staging_ended(nlohmann::json facts);
  /// Collective. Logs the end of a staging that goes on while training, once it is over.
  void finish_staging(StagingEnd end_of_it);
  /// Sets how the run ended; always returns false: the run is over.
  bool end(RunStatus status, std::string reason);
  /// Whether the last evaluation reached the target; if so, ends the run as a success.
  bool reached_target();

  const RunConfig& config;
  Workload& workload;
  const RunDoors& doors;
  RunLog log;
  RunProgress progress;
  RunPosition at;
  RunOutcome outcome;
  nlohmann::json cached_data;     ///< what of the data was in memory when staging began, or null
  bool stages_meanwhile = false;  ///< staging goes on while training
  std::int64_t started_ns = 0;    ///< run_start on the telemetry's clock
};

}  // namespace runner
