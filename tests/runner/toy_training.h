// A toy training that tests save and resume.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runner/checkpoint_folder.h"
#include "runner/resume.h"
#include "runner/run_loop.h"
#include "shared_directory.h"
#include "staging/checkpoint_file.h"
#include "toy_workload.h"

namespace runner {

class LineSink final : public mllog::RecordSink {
 public:
  void write_line(const std::string& line) override {
    records.push_back(nlohmann::json::parse(line.substr(std::string(":::MLLOG ").size())));
  }
  std::vector<nlohmann::json> records;
};

/// A run of the toy: eight epochs of ten steps, saved into a folder that all ranks see.
struct ToyTraining {
  explicit ToyTraining(const nlohmann::json& overrides = nlohmann::json::object()) {
    nlohmann::json object = {
        {"workload", "toy"}, {"epochs", 8}, {"seed", 7}, {"target", {{"quality", 2.0}}}};
    object.update(overrides);
    config.emplace(parse_run_config(base::ObjectReader(object, "toy.json"), "toy.json"));
  }

  RunOutcome run(const ResumePoint* resume = nullptr) {
    telemetry::Telemetry telemetry(clock);
    lines.records.clear();
    mllog::LogWriter log(world.rank() == 0 ? &lines : nullptr, clock);
    const Surroundings around{world, topology, telemetry, 1};
    ToyWorkload workload(around, config->seed, script);
    Checkpointer checkpointer(config->checkpoint, folder.path() + "/saved",
                              config->reader.resolved(), {{"ranks", world.size()}}, doors);
    const RunDoors run_doors{world,
                             topology,
                             telemetry,
                             log,
                             {world.rank(), "here", 0, 1},
                             console,
                             [this] { return stop; },
                             &checkpointer,
                             resume};
    const RunOutcome outcome = run_once(*config, workload, {false, "a test"}, run_doors);
    values = workload.values();
    return outcome;
  }
  ResumePoint open() {
    world.barrier();
    return open_resume_point(resume_candidates(folder.path() + "/saved"), format, world, console);
  }
  std::vector<std::int64_t> saved_steps() const {
    world.barrier();
    std::vector<std::int64_t> steps;
    for (const auto& file : list_checkpoints(folder.path() + "/saved")) steps.push_back(file.steps);
    world.barrier();
    return steps;
  }
  std::vector<std::int64_t> epochs_of(const std::string& key) const {
    std::vector<std::int64_t> epochs;
    for (const nlohmann::json& record : lines.records) {
      if (record["key"] == key) epochs.push_back(record["metadata"].value("epoch_num", -1));
    }
    return epochs;
  }

  base::SystemClock clock;
  Communicator world = Communicator::world();
  Topology topology = discover_topology(world);
  SharedDirectory folder{world};
  std::ostringstream told;
  Console console{told, world.rank() == 0 ? Console::Style::kLines : Console::Style::kSilent,
                  clock};
  CheckpointFormat format = staging::checkpoint_format();
  std::function<bool()> requested = [] { return false; };
  CheckpointDoors doors{world, clock, console, format, [this] { return requested(); }};
  LineSink lines;
  ToyScript script;
  StopSignal stop = StopSignal::kNone;
  std::optional<RunConfig> config;
  std::pair<double, double> values;
};

inline std::string evaluations_text(const RunOutcome& outcome) {
  std::string text;
  for (const EvaluationPoint& one : outcome.evaluations) {
    text += std::to_string(one.epoch_num) + ":" + std::to_string(one.quality) + " ";
  }
  return text;
}

}  // namespace runner
