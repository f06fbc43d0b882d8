// The trace of one run, from the first message to other clocks to the file.
// Hides how ranks hand over their parts.
#pragma once

#include <optional>
#include <string>

#include "runner/communicator.h"
#include "runner/telemetry/report_file.h"
#include "runner/telemetry/trace.h"
#include "runner/telemetry/trace_file.h"

namespace runner {

/// What a trace gave, on rank 0.
struct TraceSummary {
  std::int64_t steps = 0;                        ///< traced on rank 0: maybe less than asked for
  std::int64_t dropped = 0, dropped_layers = 0;  ///< on all ranks
  std::string transfers;                         ///< telemetry::transfers_text
};

/// Made before the run, written after it. A run that is aborted leaves none.
class RunTrace {
 public:
  /// Collective. All outlive this.
  RunTrace(const telemetry::StepRange& steps, const Communicator& world, const Topology& topology,
           const base::Clock& clock);
  /// For the run's telemetry.
  telemetry::Trace& trace() { return trace_; }
  /// Collective. Rank 0 writes the file at `path`, which matters there alone, with one rank's part
  /// in memory at a time. Throws SystemError there when it cannot be written.
  TraceSummary write(const std::string& path, const std::string& workload,
                     const telemetry::RankIdentity& identity);

 private:
  const Communicator& world_;
  const Topology& topology_;
  const base::Clock& clock_;
  telemetry::Trace trace_;
  telemetry::ClockOffset start_;
};

}  // namespace runner
