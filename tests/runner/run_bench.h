// One run of the toy workload with all that the run loop needs, for tests of that loop.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runner/run_loop.h"
#include "telemetry_account.h"
#include "toy_workload.h"

namespace runner {

class LineSink final : public mllog::RecordSink {
 public:
  void write_line(const std::string& line) override { lines.push_back(line); }
  std::vector<std::string> lines;
};

/// The machine's clock, whose calendar can be set.
class SetClock final : public base::Clock {
 public:
  std::int64_t steady_ns() const override { return clock_.steady_ns(); }
  std::int64_t unix_ms() const override { return clock_.unix_ms() + set_ms; }
  std::atomic<std::int64_t> set_ms = 0;

 private:
  base::SystemClock clock_;
};

/// One run with its dependencies; only rank 0's log has lines.
struct ToyBench {
  explicit ToyBench(const nlohmann::json& overrides = nlohmann::json::object(),
                    ToyScript toy_script = {})
      : script(std::move(toy_script)) {
    nlohmann::json object = {{"workload", "toy"}, {"epochs", 8}, {"seed", 7}};
    object.update(overrides);
    const base::ObjectReader reader(object, "toy.json");
    config.emplace(parse_run_config(reader, "toy.json"));
  }

  RunOutcome run() {
    LineSink* sink = world.rank() == 0 ? &lines : nullptr;
    mllog::LogWriter log(sink, clock);
    const Surroundings around{world, topology, telemetry, 1};
    ToyWorkload workload(around, config->seed, script);
    const telemetry::RankIdentity identity{world.rank(), "here", 0, 1};
    RunDoors doors{world, topology, telemetry, log, identity, console, stop_requested};
    doors.rule_broken = rule_broken;
    doors.look_at_data = look_at_data;
    RunOutcome outcome = run_once(*config, workload, caches, doors);
    telemetry::expect_whole_entry(outcome.telemetry_entry);
    return outcome;
  }

  std::vector<nlohmann::json> records() const {
    std::vector<nlohmann::json> all;
    for (const std::string& line : lines.lines) {
      const std::string prefix = ":::MLLOG ";
      EXPECT_EQ(line.compare(0, prefix.size(), prefix), 0) << line;
      all.push_back(nlohmann::json::parse(line.substr(prefix.size())));
    }
    return all;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> names;
    for (const nlohmann::json& record : records()) names.push_back(record["key"]);
    return names;
  }
  nlohmann::json first(const std::string& key) const {
    for (const nlohmann::json& record : records()) {
      if (record["key"] == key) return record;
    }
    return nlohmann::json();
  }

  SetClock clock;
  Communicator world = Communicator::world();
  Topology topology = discover_topology(world);
  telemetry::Telemetry telemetry{clock};
  std::ostringstream stderr_text;
  Console console{stderr_text, world.rank() == 0 ? Console::Style::kLines : Console::Style::kSilent,
                  clock};
  LineSink lines;
  ToyScript script;
  std::optional<RunConfig> config;
  std::function<StopSignal()> stop_requested = [] { return StopSignal::kNone; };
  std::function<std::string()> rule_broken;
  std::function<nlohmann::json()> look_at_data;
  CacheClearing caches{false, "a test"};
};

}  // namespace runner
