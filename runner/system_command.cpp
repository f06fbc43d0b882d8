// system: describes the nodes that it runs on.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runner/base/input_file.h"
#include "runner/base/json_text.h"
#include "runner/base/make_folder.h"
#include "runner/base/printable.h"
#include "runner/base/replaced_file.h"
#include "runner/base/strict_json.h"
#include "runner/commands.h"
#include "runner/documents.h"
#include "runner/node_facts.h"
#include "runner/system_description.h"

namespace runner {
namespace {

using base::ExitCode;
using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

struct SystemOptions {
  SystemDescriptionOptions description;
  std::string json;         ///< file, or "-"
  std::string differences;  ///< file, or "-"
  bool fresh = false;
};

/// The facts of each node, on rank 0. Collective if `world` is not null.
std::vector<Json> gather_nodes(const Json& libraries, Communicator* world) {
  if (world == nullptr) return {node_facts(libraries)};
  const Topology topology = discover_topology(*world);
  const std::string mine = topology.is_node_leader() ? base::json_line(node_facts(libraries)) : "";
  std::vector<Json> nodes;
  for (const std::string& text : world->gather(mine, 0)) {
    if (!text.empty()) {
      nodes.push_back(
          base::parse_strict_json(text, "facts of a node", base::JsonComments::kRefused));
    }
  }
  return nodes;
}

/// Reads the JSON object in the file at `path`.
Json read_description(const std::string& path) {
  std::string problem;
  const auto text = base::read_text(path, problem);
  if (!text) throw base::DataError(path + ": " + problem);
  Json object = base::parse_strict_json(*text, path, base::JsonComments::kRefused);
  if (!object.is_object()) {
    throw base::DataError(path + ": expected a description, a JSON object, found " +
                          base::brief_json(object) + "; --fresh replaces it");
  }
  return object;
}

/// Fields that a person filled into the output file are kept.
OrderedJson kept(const SystemOptions& options, const OrderedJson& read) {
  const UpdatedDescription updated =
      update_description(read_description(options.json), read, options.description);
  std::cerr << fmt::format("{}: kept what it says, filled in {} fields\n",
                           base::printable(options.json), updated.filled);
  for (const std::string& contradiction : updated.contradictions) {
    std::cerr << base::printable(fmt::format("{}: {}; kept (--fresh replaces all fields)",
                                             options.json, contradiction))
              << '\n';
  }
  return updated.fields;
}

void print(const OrderedJson& description, const std::vector<Json>& nodes,
           const std::vector<NodeDifference>& differences) {
  std::size_t width = 0;
  for (const auto& [key, value] : description.items()) width = std::max(width, key.size());
  for (const auto& [key, value] : description.items()) {
    const auto text = value.get<std::string>();
    std::cout << key << std::string(width + 2 - key.size(), ' ')
              << (text.empty() ? "(not known)" : base::printable(text)) << '\n';
  }
  // The facts that have no field in a submission.
  std::cout << '\n';
  print_facts(nodes.front(), std::cout);
  if (nodes.size() < 2) return;
  std::cout << fmt::format("\n{} nodes, {} facts differ\n", nodes.size(), differences.size());
  for (const NodeDifference& one : differences) {
    std::cout << "  " << base::printable(to_text(one)) << '\n';
  }
  std::cout << std::flush;
}

void print_differences(const std::vector<NodeDifference>& differences) {
  for (const NodeDifference& one : differences) {
    std::cerr << "trainmark: nodes differ in " << base::printable(to_text(one)) << '\n';
  }
}

void check_options(const SystemOptions& options) {
  if (options.fresh && (options.json.empty() || options.json == "-")) {
    throw base::ConfigError("system: --fresh needs --json FILE");
  }
  if (options.json == "-" && options.differences == "-") {
    throw base::ConfigError("system: --json and --differences cannot both be standard output");
  }
}

/// Lists the fields that a person must fill in.
void print_unknown(const std::string& path, const OrderedJson& description) {
  const bool has_accelerators = description.value("accelerators_per_node", OrderedJson()) != "0";
  std::string unknown;
  for (const auto& [key, value] : description.items()) {
    if (value != "" || (!has_accelerators && key.starts_with("accelerator"))) continue;
    unknown += (unknown.empty() ? "" : ", ") + key;
  }
  if (unknown.empty()) return;
  std::cerr << base::printable(fmt::format("{}: to be filled in by hand: {}", path, unknown))
            << '\n';
}

void write_description(const std::string& path, const OrderedJson& description) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) base::make_folder(folder.string());
  base::write_file(path, base::json_text(description, 2));
}

ExitCode describe(SystemOptions options, const Json& libraries, Communicator* world) {
  check_options(options);
  const std::vector<Json> nodes = gather_nodes(libraries, world);
  if (nodes.empty()) return ExitCode::kSuccess;  // only rank 0 prints
  const std::vector<NodeDifference> differences = node_differences(nodes);
  SystemDescriptionOptions said = options.description;
  const bool is_file = !options.json.empty() && options.json != "-";
  const bool keeps = is_file && !options.fresh && std::filesystem::exists(options.json);
  const auto met = static_cast<int>(nodes.size());
  // A single process has seen no other node, so it does not know the number of nodes.
  if (said.nodes == 0 && (world != nullptr || !keeps)) said.nodes = met;
  if (world != nullptr && said.nodes != met) {
    std::cerr << fmt::format("trainmark: --nodes {}, but {} were met\n", said.nodes, met);
  }
  if (said.division.empty()) said.division = "open";
  OrderedJson description = describe_nodes(said, nodes);
  if (keeps) description = kept(options, description);
  if (is_file) {
    write_description(options.json, description);
    print_unknown(options.json, description);
  }
  const bool prints_text = options.json.empty() && options.differences != "-";
  // Before the document: with stderr written after it, mpirun of Open MPI 5 garbles the document.
  if (!prints_text) print_differences(differences);
  if (options.json == "-") std::cout << base::json_text(description, 2);
  if (!options.differences.empty()) {
    write_document(differences_document(nodes, differences), options.differences, std::cout);
  }
  // Files first: a reader of the text that ends early, such as `head`, then costs none of them.
  if (prints_text) print(description, nodes, differences);
  return ExitCode::kSuccess;
}

base::Command system_command(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "system";
  command.summary = "the system description (systems/*.json) of this node, or of all of a job";
  command.example =
      "mpirun -N 1 trainmark system --submitter 'My centre' --json systems/mine.json\n"
      "  trainmark system --nodes 4 --json systems/mine.json";
  command.joins_ranks = true;
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<SystemOptions>();
    SystemDescriptionOptions& given = options->description;
    app.add_option("--submitter", given.submitter, "who submits");
    app.add_option("--division", given.division, "MLPerf division; open if absent")
        ->check(CLI::IsMember({"open", "closed"}));
    app.add_option("--status", given.status, "availability, such as 'Available on-premise'");
    app.add_option("--name", given.system_name, "name of the system");
    app.add_option("--nodes", given.nodes,
                   "nodes of the system, all like this one; those that were met if absent")
        ->check(CLI::Range(1, 1000000));
    app.add_option("--json", options->json,
                   "write the description as JSON to this file, in which what a person has filled "
                   "in stays; '-' for standard output");
    app.add_flag("--fresh", options->fresh, "with --json FILE: replace what the file says");
    app.add_option("--differences", options->differences,
                   "write the facts of each node, and those that differ between nodes, as JSON to "
                   "this file; '-' for standard output");
    return [options, parts](Communicator* world) {
      return describe(*options, parts->libraries(), world);
    };
  };
  return command;
}

}  // namespace

std::vector<base::Command> system_commands(const std::shared_ptr<const CommandParts>& parts) {
  return {system_command(parts)};
}

}  // namespace runner
