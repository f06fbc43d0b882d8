// config: shows what would be run, and what it needs.
#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/documents.h"
#include "runner/memory_report.h"
#include "runner/placement.h"

namespace runner {
namespace {

using base::ExitCode;
using Json = nlohmann::json;

struct ConfigOptions {
  std::shared_ptr<ConfigSource> source;
  bool schema = false;
  bool memory = false;
  int ranks = 1;
  std::string json = "-";
};

ExitCode show_memory(const ConfigOptions& options, bool as_json) {
  const RunConfig& config = *options.source->config;
  PlannedRank place;
  place.ranks = place.node_ranks = options.ranks;
  place.threads = planned_threads(config.cpus, config.threads, options.ranks);
  const Json document = memory_document(options.source->entry->memory_needs(config, place), place);
  if (as_json) {
    write_document(document, options.json, std::cout);
  } else {
    print_memory(document, std::cout);
  }
  return ExitCode::kSuccess;
}

base::Command config_command(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "config";
  command.summary = "the resolved configuration, its schema, or the memory that it needs";
  command.example =
      "trainmark config configs/resnet50/cifar10.json --set epochs=3\n"
      "  trainmark config configs/resnet50/mlperf.json --memory --ranks 2";
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<ConfigOptions>();
    options->source =
        declare_config(app, parts->workloads, [options = options.get()](const WorkloadEntry&) {
          require_outputs(*options->source, {{"--json", options->json}});
        });
    auto* schema =
        app.add_flag("--schema", options->schema, "print the JSON Schema of this workload's files");
    auto* memory = app.add_flag("--memory", options->memory,
                                "print what a rank needs of memory, by part; takes none of it")
                       ->excludes(schema);
    app.add_option("--ranks", options->ranks, "with --memory: ranks, all on one node")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str()
        ->needs(memory);
    auto* json = app.add_option("--json", options->json,
                                "write as JSON to this file; '-' for standard output")
                     ->capture_default_str();
    return [options, json](Communicator*) {
      if (options->memory) return show_memory(*options, json->count() > 0);
      const base::ObjectReader& reader = options->source->config->reader;
      write_document(options->schema ? reader.schema() : reader.resolved(), options->json,
                     std::cout);
      return ExitCode::kSuccess;
    };
  };
  return command;
}

}  // namespace

std::vector<base::Command> inspection_commands(const std::shared_ptr<const CommandParts>& parts) {
  return {config_command(parts)};
}

std::vector<base::Command> commands(CommandParts parts) {
  const auto shared = std::make_shared<const CommandParts>(std::move(parts));
  std::vector<base::Command> all;
  for (auto* const table :
       std::array{&run_commands, &evaluation_commands, &staging_commands, &workload_commands,
                  &inspection_commands, &system_commands, &script_commands}) {
    for (base::Command& command : table(shared)) all.push_back(std::move(command));
  }
  return all;
}

}  // namespace runner
