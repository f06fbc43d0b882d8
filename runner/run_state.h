// One run under way, as the parts of the run loop share it: where it stands, and what it gives.
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
  /// All outlive it.
  RunState(const RunConfig& run_config, Workload& trained, const RunDoors& run_doors)
      : config(run_config),
        workload(trained),
        doors(run_doors),
        log(doors.log),
        progress(doors, workload.info().name) {}

  /// Epochs that are trained, but for `unfinished` steps.
  double epochs_done(std::int64_t unfinished = 0) const;
  /// 0 where evaluations do not cut epochs.
  std::int64_t steps_between_evaluations() const;
  double since_start_s() const;  ///< with the earlier parts of a resumed run
  /// Notes how the run ended; false: it is over.
  bool end(RunStatus status, std::string reason);
  /// Whether the last evaluation did; then the run has ended well.
  bool reached_target();

  const RunConfig& config;
  Workload& workload;
  const RunDoors& doors;
  RunLog log;
  RunProgress progress;
  RunPosition at;
  RunOutcome outcome;
  std::int64_t started_ns = 0;  ///< run_start on the telemetry's clock
};

}  // namespace runner
