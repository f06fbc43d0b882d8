// config and system: what would be run, and on what.
// Hides their options.
#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runner/base/output_file.h"
#include "runner/base/system_facts.h"
#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/documents.h"
#include "runner/result_files.h"
#include "runner/system_description.h"

namespace runner {
namespace {

using base::ExitCode;
using Json = nlohmann::json;

struct ConfigOptions {
  std::shared_ptr<ConfigSource> source;
  bool schema = false;
  std::string json = "-";
};

base::Command config_command(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "config";
  command.summary = "the resolved configuration, defaults included, or its schema";
  command.example = "trainmark config configs/resnet50/cifar10.json --set epochs=3";
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<ConfigOptions>();
    options->source = declare_config(app, parts->workloads);
    app.add_flag("--schema", options->schema, "print the JSON Schema of this workload's files");
    app.add_option("--json", options->json, "write to this file; '-' for standard output")
        ->capture_default_str();
    return [options](Communicator*) {
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
  for (auto* const table :
       std::array{&training_commands, &workload_commands, &inspection_commands}) {
    for (base::Command& command : table(shared)) all.push_back(std::move(command));
  }
  return all;
}

}  // namespace runner
