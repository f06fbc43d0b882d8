// stage: what a run does before it trains, alone.
// Hides its options.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/documents.h"
#include "runner/placement.h"
#include "runner/together.h"
#include "runner/watchdog.h"

namespace runner {
namespace {

using base::ExitCode;
using Json = nlohmann::json;

struct StageOptions {
  std::shared_ptr<ConfigSource> source;
  bool dry_run = false;
  std::string json;
};

void tell(const Json& facts, const StageOptions& options) {
  if (!options.json.empty()) return write_document(facts, options.json, std::cout);
  print_facts(facts, std::cout);
}

ExitCode stage(const StageOptions& options, const Communicator& world) {
  const RunConfig& config = *options.source->config;
  const Watchdog watchdog(world, watch_options(config.watch));
  const Topology topology = discover_topology(world);
  const ThreadPlan threads = plan_threads(config.threads, current_binding(), topology.node);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock, &world.activity());
  const Surroundings around{world, topology, telemetry, threads.threads};
  std::unique_ptr<Workload> workload;
  together(world, [&] { workload = options.source->entry->make(config, around); });
  world.activity().enter_phase("staging");
  workload->open_data();
  // A plan looks at every sample, and stage() makes its own.
  Json facts = options.dry_run ? workload->staging_plan() : workload->stage();
  if (facts.is_null() || facts.value("/train/mode"_json_pointer, "") == "none") {
    throw base::ConfigError(options.source->config->file +
                            ": /staging/mode: expected node, as there is nothing to stage with "
                            "none");
  }
  if (world.rank() == 0) tell(facts, options);
  // Here a rank that does not come is noticed; MPI_Finalize would wait for it unwatched.
  world.barrier();
  return ExitCode::kSuccess;
}

}  // namespace

std::vector<base::Command> staging_commands(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "stage";
  command.summary = "copy what a run's nodes need near them, packed and checked, and leave it";
  command.example =
      "mpirun -n 2 trainmark stage configs/cosmoflow/mlperf.json --dry-run\n"
      "  mpirun -n 2 trainmark stage configs/cosmoflow/mlperf.json --set staging.directory=/nvme";
  command.needs_mpi = true;
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<StageOptions>();
    options->source = declare_config(app, parts->workloads);
    app.add_flag("--dry-run", options->dry_run,
                 "tell what would be copied and whether it fits; write nothing");
    app.add_option("--json", options->json,
                   "write the plan, or what was done, as JSON to this file; '-' for standard "
                   "output");
    return [options](Communicator* world) { return stage(*options, *world); };
  };
  return {command};
}

}  // namespace runner
