// Writes the telemetry file.
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/replaced_file.h"
#include "runner/base/system_facts.h"
#include "runner/telemetry/report_file.h"
#include "runner/telemetry/report_schema.h"

namespace telemetry {

namespace {

using Json = nlohmann::json;

Json report_definitions() {
  Json subsystems, counters;
  for (int i = 0; i < kSubsystemCount; ++i) {
    const auto subsystem = static_cast<Subsystem>(i);
    subsystems[to_string(subsystem)] = subsystem_definition(subsystem);
  }
  for (int i = 0; i < kCounterCount; ++i) {
    const auto counter = static_cast<Counter>(i);
    counters[to_string(counter)] = counter_definition(counter);
  }
  return {{"subsystems_s", std::move(subsystems)},
          {"counters", std::move(counters)},
          {"within_s",
           "of staging, evaluation and checkpoint: seconds that input, forward and the like took "
           "of them; exchange is there the time in communication between ranks"},
          {"wall_s", "seconds from run_start to the moment of this entry, on the rank's own clock"},
          {"step_s",
           "wall time of training steps in seconds; quantiles are within a bucket, whose "
           "upper end is bucket_growth times its lower end; bucket_counts: [i, count] of "
           "durations from bucket_growth^i nanoseconds on"},
          {"layers",
           "by which method each layer's products are made on rank 0: the library's names, and the "
           "program's own"},
          {"peak_rss_bytes",
           "largest resident set of the process (VmHWM); under mpirun it counts "
           "shared-memory segments"},
          {"gradient_pieces",
           "pieces in which gradients travel between nodes that the first steps of training tried: "
           "bytes of each, whether later ones overtake earlier ones, the shortest step on the "
           "slowest rank, and whether they were kept; empty if there was no choice or training "
           "ended before"},
          {"scopes", "scopes entered, and layers and transfers that were traced"},
          {"scope_cost_s",
           "scopes times the measured cost of one, and what one costs more in a trace times the "
           "steps, scopes, layers and transfers that were traced"}};
}

Json parse_entry(const std::string& text) {
  Json entry = Json::parse(text, nullptr, false);
  if (!entry.is_object()) {
    throw base::Error(base::ExitCode::kInternal, "write_report: an entry is no rank_entry()");
  }
  return entry;
}

}  // namespace

std::string rank_entry(const RankIdentity& identity, const Telemetry& telemetry) {
  Json entry = telemetry.to_json();
  entry["rank"] = identity.rank;
  entry["host"] = identity.host;
  entry["node"] = identity.node;
  entry["threads"] = identity.threads;
  entry["peak_rss_bytes"] = base::peak_rss_bytes();
  return entry.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void write_report(const std::string& path, const std::string& workload,
                  const std::vector<std::string>& rank_entries,
                  const std::vector<LayerMethod>& layers, const Json& provenance) {
  Json ranks = Json::array(), methods = Json::array();
  for (const LayerMethod& one : layers) {
    methods.push_back({{"layer", one.layer}, {"method", one.method}});
  }
  for (const std::string& text : rank_entries) ranks.push_back(parse_entry(text));
  const Json report = {{"schema", kReportSchema},   {"workload", workload},
                       {"ranks", std::move(ranks)}, {"layers", std::move(methods)},
                       {"provenance", provenance},  {"definitions", report_definitions()}};
  base::replace_file(path, report.dump(1, ' ', true, Json::error_handler_t::replace) + "\n");
}

}  // namespace telemetry
