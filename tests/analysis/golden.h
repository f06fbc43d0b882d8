// The golden logs of these tests, and synthetic telemetry.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "analysis/findings/make_report.h"
#include "analysis/findings/report.h"
#include "runner/telemetry/telemetry.h"

namespace golden {

namespace fs = std::filesystem;

/// A folder of tests/analysis/data; tests run from the project's root.
inline std::string folder(const std::string& name) { return "tests/analysis/data/" + name; }

/// The one run in a golden folder.
inline analysis::RunReport run(const std::string& name) {
  analysis::Report report = analysis::make_report({folder(name)});
  if (report.runs.size() != 1) throw std::runtime_error(name + ": expected one log");
  return std::move(report.runs.front());
}

/// The telemetry entry of a rank: of ten seconds, `input_s` are input, 4 forward, the rest other.
inline nlohmann::json rank_entry(int rank, double input_s) {
  constexpr double kWall = 10.0;
  constexpr double kForward = 4.0;
  nlohmann::json subsystems, counters;
  for (int i = 0; i < telemetry::kSubsystemCount; ++i) {
    subsystems[telemetry::to_string(static_cast<telemetry::Subsystem>(i))] = 0.0;
  }
  subsystems["input"] = input_s;
  subsystems["forward"] = kForward;
  subsystems["other"] = kWall - kForward - input_s;
  for (int i = 0; i < telemetry::kCounterCount; ++i) {
    counters[telemetry::to_string(static_cast<telemetry::Counter>(i))] = 0;
  }
  counters["steps"] = 50;
  const nlohmann::json steps = {{"count", 50}, {"mean", 0.18}, {"min", 0.1}, {"p50", 0.17},
                                {"p90", 0.2},  {"p99", 0.3},   {"max", 0.4}};
  return {{"rank", rank},         {"host", "node0"},      {"node", 0},
          {"threads", 1},         {"wall_s", kWall},      {"subsystems_s", subsystems},
          {"counters", counters}, {"step_s", steps},      {"peak_rss_bytes", 1000 + rank},
          {"scopes", 10},         {"scope_cost_s", 0.001}};
}

/// A log whose run takes the ten seconds of rank_entry().
inline std::string ten_seconds_log() {
  return ":::MLLOG {\"time_ms\": 1000, \"key\": \"run_start\", \"value\": null}\n"
         ":::MLLOG {\"time_ms\": 11000, \"key\": \"run_stop\", \"value\": null, "
         "\"metadata\": {\"status\": \"aborted\"}}\n";
}

/// Two ranks, of which rank 1 waited 4 seconds for data, and rank 0 for rank 1.
inline nlohmann::json late_telemetry() {
  nlohmann::json late = rank_entry(1, 4.0), prompt = rank_entry(0, 0.0);
  prompt["subsystems_s"]["other"] = 2.0;
  prompt["subsystems_s"]["exchange"] = 4.0;
  late["host"] = "node<1>";
  return {{"schema", 1},
          {"workload", "resnet50"},
          {"ranks", {prompt, late}},
          {"provenance", nlohmann::json::object()}};
}

/// A telemetry file of two ranks that waited 1 and 3 seconds for data.
inline std::string telemetry_text() {
  return nlohmann::json{{"schema", 1},
                        {"workload", "resnet50"},
                        {"ranks", {rank_entry(0, 1.0), rank_entry(1, 3.0)}},
                        {"provenance", {{"machine", {{"cpu_model", "Demo <CPU>"}}}}}}
      .dump();
}

/// A trace of two ranks: the first one of two steps, the second one of four, with transfers that
/// the first has not.
inline std::string trace_text() {
  return R"({"traceEvents":[],"otherData":{"first_step":2,"ranks":[
{"rank":0,"steps":2,"steps_s":1.0,"exchange_s":0.4,"clock":{"drift":-1,"start":{"offset_s":-2}},
 "all_transfers":{"name":"all","count":6,"bytes":400,"in_flight_s":0.6,"exposed_s":0.2,"hidden_s":0.4},
 "transfers":[
  {"name":"gradients","count":4,"bytes":300,"in_flight_s":0.5,"exposed_s":0.1,"hidden_s":0.4,"isolated_s":0.3},
  {"name":"ids","count":2,"bytes":100,"in_flight_s":0.2,"exposed_s":0.1,"hidden_s":0.1,"isolated_s":null}]},
{"rank":1,"steps":4,"steps_s":2.8,"exchange_s":1.6,
 "all_transfers":{"name":"all","count":8,"bytes":600,"in_flight_s":1.2,"exposed_s":0.8,"hidden_s":0.4},
 "transfers":[
  {"name":"late","count":4,"bytes":0,"in_flight_s":0.4,"exposed_s":0.4,"hidden_s":0},
  {"name":"gradients","count":4,"bytes":600,"in_flight_s":0.8,"exposed_s":0.4,"hidden_s":0.4,"isolated_s":0.8}]}],
 "definitions":{"steps":"training steps that were traced"}}})";
}

}  // namespace golden
