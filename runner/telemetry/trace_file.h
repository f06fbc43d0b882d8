// The trace file of a run (result_<n>.trace.json) in JSON Trace Event Format, for Perfetto and
// chrome://tracing.
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

/// A rank's part of the file: a process whose line 0 is the training thread. Transfers are below;
/// transfers of one name take as many lines as overlap.
struct RankTrace {
  /// `trace_in` must be complete and outlives this object.
  RankTrace(RankIdentity identity_in, const Trace& trace_in, const ClockMap& clock_in)
      : identity(std::move(identity_in)),
        trace(trace_in),
        clock(clock_in),
        events(trace_in.events()) {}
  RankIdentity identity;
  const Trace& trace;
  ClockMap clock;                  ///< from the rank's clock to rank 0's
  const Trace* alone = nullptr;    ///< of steps that do nothing but exchange; null: not measured
  std::vector<TraceEvent> events;  ///< of `trace`, collected once
};

/// The rank's part of the file's metadata.
nlohmann::json trace_entry(const RankTrace& rank);
/// Passes the rank's events to `take` as texts for TraceFile::add, of about 100 KiB at most.
/// `origin_ns` on rank 0's clock is time 0 of the file.
void trace_texts(const RankTrace& rank, std::int64_t origin_ns,
                 const std::function<void(const std::string& text)>& take);

/// Writes the file piece by piece; it appears complete or not at all. All calls throw SystemError
/// naming `path`.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path);
  void add(const std::string& text);
  /// `entries`: from trace_entry(), in rank order.
  void finish(const std::string& workload, const StepRange& steps,
              const std::vector<nlohmann::json>& entries);

 private:
  base::ReplacedFile file_;
  bool is_empty_ = true;
};

/// Text for people: one line per kind of transfer, and one for all, with milliseconds per step,
/// exposed and hidden, and bytes, as means over the ranks. "" without transfers.
std::string transfers_text(const std::vector<nlohmann::json>& entries);

}  // namespace telemetry
