// Reports a run's progress to its watchdog, to the console, and to other shells.
#pragma once

#include <cstdint>
#include <string>

#include "runner/console.h"
#include "runner/run_doors.h"
#include "runner/telemetry/live_status.h"

namespace runner {

/// Only for the rank's main thread.
class RunProgress {
 public:
  /// `doors` outlives this object.
  RunProgress(const RunDoors& doors, const std::string& workload);

  /// `phase` must be a string literal.
  void enter(const char* phase);
  /// Training begins, `steps_done` steps into a (resumed) run.
  void begin(std::int64_t steps_done);
  void trained(const ProgressPoint& point);

 private:
  void publish();
  const RunDoors& doors_;
  telemetry::LiveStatus status_;
};

}  // namespace runner
