// Collects the trace of a run from all ranks.
#include "runner/run_trace.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "runner/base/json_text.h"
#include "runner/clock_offsets.h"

namespace runner {
namespace {

using Json = nlohmann::json;

/// Start of the first event on rank 0's clock; the largest int64 if there are no events.
std::int64_t first_begin(const telemetry::RankTrace& rank) {
  if (rank.events.empty()) return std::numeric_limits<std::int64_t>::max();
  return rank.clock.to_own(rank.events.front().begin_ns);
}

}  // namespace

RunTrace::RunTrace(const telemetry::StepRange& steps, const Communicator& world,
                   const Topology& topology, const base::Clock& clock)
    : world_(world),
      topology_(topology),
      clock_(clock),
      trace_(steps),
      alone_({1, 1}, 0),
      start_(measure_clock_offset(world, topology, clock)) {}

void RunTrace::time_exchanges(Workload& workload, telemetry::Telemetry& telemetry) {
  constexpr int kRepetitions = 3;
  telemetry.trace_to(alone_);
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    world_.barrier();
    alone_.begin_step(1, telemetry.now_ns());
    workload.exchange_alone();
    world_.repeat_calls(telemetry);
    alone_.end_step(telemetry.now_ns());
  }
}

TraceSummary RunTrace::write(const std::string& path, const std::string& workload,
                             const telemetry::RankIdentity& identity) {
  const telemetry::ClockOffset end = measure_clock_offset(world_, topology_, clock_);
  telemetry::RankTrace mine{identity, trace_, {start_, end}};
  mine.alone = &alone_;
  const std::int64_t origin_ns = world_.allreduce_min(first_begin(mine));
  if (world_.rank() != 0) {
    telemetry::trace_texts(mine, origin_ns,
                           [&](const std::string& text) { world_.send_text(text, 0); });
    world_.send_text("", 0);  // marks the end
    world_.send_text(base::json_line(telemetry::trace_entry(mine)), 0);
    return {};
  }
  telemetry::TraceFile file(path);
  telemetry::trace_texts(mine, origin_ns, [&](const std::string& text) { file.add(text); });
  std::vector<Json> entries = {telemetry::trace_entry(mine)};
  for (int rank = 1; rank < world_.size(); ++rank) {
    for (std::string text = world_.receive_text(rank); !text.empty();
         text = world_.receive_text(rank)) {
      file.add(text);
    }
    entries.push_back(Json::parse(world_.receive_text(rank)));
  }
  file.finish(workload, trace_.steps(), entries);
  TraceSummary summary{trace_.traced_steps(), 0, 0, telemetry::transfers_text(entries)};
  for (const Json& entry : entries) {
    summary.dropped += entry.at("dropped").get<std::int64_t>();
    summary.dropped_layers += entry.at("dropped_layers").get<std::int64_t>();
  }
  return summary;
}

}  // namespace runner
