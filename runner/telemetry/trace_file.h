// The trace file of a run (result_<n>.trace.json): JSON Trace Event Format, as Perfetto and
// chrome://tracing read it.
// Hides its JSON layout, and on which lines transfers that overlap are drawn.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/replaced_file.h"
#include "runner/telemetry/clock_offset.h"
#include "runner/telemetry/report_file.h"
#include "runner/telemetry/trace.h"

namespace telemetry {

/// A rank's part of the file: a process, whose line 0 is the training thread; transfers are below,
/// those of one name on as many lines as they overlap.
struct RankTrace {
  /// `trace_in`, which is over, outlives this.
  RankTrace(RankIdentity identity_in, const Trace& trace_in, const ClockMap& clock_in)
      : identity(std::move(identity_in)),
        trace(trace_in),
        clock(clock_in),
        events(trace_in.events()) {}
  RankIdentity identity;
  const Trace& trace;
  ClockMap clock;                  ///< from the rank's clock to rank 0's
  std::vector<TraceEvent> events;  ///< of `trace`, collected once
};

/// What the file says of the rank beside its events.
nlohmann::json trace_entry(const RankTrace& rank);
/// Gives the rank's events to `take` as texts for TraceFile::add, each of some 100 KiB at most.
/// `origin_ns` on rank 0's clock is time 0 of the file.
void trace_texts(const RankTrace& rank, std::int64_t origin_ns,
                 const std::function<void(const std::string& text)>& take);

/// Written piece by piece: it is whole or it is not there. All calls throw SystemError naming
/// `path`.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path);
  void add(const std::string& text);
  /// `entries`: of trace_entry(), in rank order.
  void finish(const std::string& workload, const StepRange& steps,
              const std::vector<nlohmann::json>& entries);

 private:
  base::ReplacedFile file_;
  bool is_empty_ = true;
};

/// For people: a line for each kind of transfer, and one of all: milliseconds in a step, exposed
/// and hidden, and bytes, as means over the ranks. "" without any transfer.
std::string transfers_text(const std::vector<nlohmann::json>& entries);

}  // namespace telemetry
