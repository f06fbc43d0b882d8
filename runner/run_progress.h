// Where a run stands: for its own watchdog, for people on the console, and for other shells.
// Hides who is told what.
#pragma once

#include <cstdint>
#include <string>

#include "runner/console.h"
#include "runner/run_doors.h"
#include "runner/telemetry/live_status.h"

namespace runner {

/// Used from the rank's main thread.
class RunProgress {
 public:
  /// Of the run with these doors, which outlive this.
  RunProgress(const RunDoors& doors, const std::string& workload);

  /// `phase` is a literal.
  void enter(const char* phase);
  /// Training begins, `steps_done` steps into a (resumed) run.
  void begin(std::int64_t steps_done);
  void trained(const ProgressPoint& point);

 private:
  void tell();
  const RunDoors& doors_;
  telemetry::LiveStatus status_;
};

}  // namespace runner
