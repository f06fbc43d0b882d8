// config and system: what would be run, and on what.
// Hides their options.
#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runner/base/replaced_file.h"
#include "runner/base/system_facts.h"
#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/documents.h"
#include "runner/memory_report.h"
#include "runner/placement.h"
#include "runner/result_files.h"
#include "runner/system_description.h"

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

ExitCode tell_memory(const ConfigOptions& options, bool as_json) {
  const RunConfig& config = *options.source->config;
  PlannedRank place;
  place.ranks = place.node_ranks = options.ranks;
  place.threads = plan_threads(config.threads, current_binding(), options.ranks);
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
    options->source = declare_config(app, parts->workloads);
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
      if (options->memory) return tell_memory(*options, json->count() > 0);
      const base::ObjectReader& reader = options->source->config->reader;
      write_document(options->schema ? reader.schema() : reader.resolved(), options->json,
                     std::cout);
      return ExitCode::kSuccess;
    };
  };
  return command;
}

struct SystemOptions {
  SystemDescriptionOptions description;
  std::string json;
};

ExitCode describe(const SystemOptions& options, const Json& libraries) {
  const Json machine = base::machine_facts();
  const auto description =
      describe_system(options.description, machine, base::build_facts(), libraries);
  if (options.json.empty()) {
    // People also see what the submission's fields have no place for.
    std::size_t width = 0;
    for (const auto& [key, value] : description.items()) width = std::max(width, key.size());
    for (const auto& [key, value] : description.items()) {
      const auto text = value.get<std::string>();
      std::cout << key << std::string(width + 2 - key.size(), ' ')
                << (text.empty() ? "(not known)" : text) << '\n';
    }
    std::cout << '\n';
    print_facts(machine, std::cout);
    return ExitCode::kSuccess;
  }
  const std::string text = description.dump(2) + "\n";
  if (options.json == "-") {
    std::cout << text << std::flush;
  } else {
    base::write_file(options.json, text);
  }
  return ExitCode::kSuccess;
}

base::Command system_command(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "system";
  command.summary = "the system description (systems/*.json) of this machine";
  command.example = "trainmark system --submitter 'My centre' --nodes 4 --json systems/mine.json";
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<SystemOptions>();
    SystemDescriptionOptions& given = options->description;
    app.add_option("--submitter", given.submitter, "who submits");
    app.add_option("--division", given.division, "MLPerf division")
        ->check(CLI::IsMember({"open", "closed"}))
        ->capture_default_str();
    app.add_option("--status", given.status, "availability, such as 'Available on-premise'");
    app.add_option("--name", given.system_name, "name of the system");
    app.add_option("--nodes", given.nodes, "nodes of the system, all like this one")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("--json", options->json,
                   "write the description as JSON to this file; '-' for standard output");
    return [options, parts](Communicator*) { return describe(*options, parts->libraries()); };
  };
  return command;
}

}  // namespace

std::vector<base::Command> inspection_commands(const std::shared_ptr<const CommandParts>& parts) {
  return {config_command(parts), system_command(parts)};
}

std::vector<base::Command> commands(CommandParts parts) {
  const auto shared = std::make_shared<const CommandParts>(std::move(parts));
  std::vector<base::Command> all;
  for (auto* const table : std::array{&training_commands, &staging_commands, &workload_commands,
                                      &inspection_commands}) {
    for (base::Command& command : table(shared)) all.push_back(std::move(command));
  }
  return all;
}

}  // namespace runner
