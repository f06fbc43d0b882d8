// The trace of one run, from clock synchronisation to the file.
#pragma once

#include <optional>
#include <string>

#include "runner/communicator.h"
#include "runner/telemetry/report_file.h"
#include "runner/telemetry/trace.h"
#include "runner/telemetry/trace_file.h"
#include "runner/workload.h"

namespace runner {

/// Summary of a written trace, on rank 0.
struct TraceSummary {
  std::int64_t steps = 0;                        ///< traced on rank 0; may be fewer than requested
  std::int64_t dropped = 0, dropped_layers = 0;  ///< on all ranks
  std::string transfers;                         ///< telemetry::transfers_text
};

/// Created before the run, written after it. An aborted run leaves no trace.
class RunTrace {
 public:
  /// Collective. All arguments outlive this object.
  RunTrace(const telemetry::StepRange& steps, const Communicator& world, const Topology& topology,
           const base::Clock& clock);
  /// Pass it to the run's telemetry.
  telemetry::Trace& trace() { return trace_; }
  /// Collective. After training, measures what the exchanges of a step take alone; `telemetry` must
  /// not be needed any more.
  void time_exchanges(Workload& workload, telemetry::Telemetry& telemetry);
  /// Collective. Rank 0 writes the file at `path` (ignored on other ranks), with one rank's part in
  /// memory at a time, and throws SystemError if it cannot be written.
  TraceSummary write(const std::string& path, const std::string& workload,
                     const telemetry::RankIdentity& identity);

 private:
  const Communicator& world_;
  const Topology& topology_;
  const base::Clock& clock_;
  telemetry::Trace trace_, alone_;
  telemetry::ClockOffset start_;
};

}  // namespace runner
