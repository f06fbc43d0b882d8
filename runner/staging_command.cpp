// stage: only the staging of a run, and management of the copies on a node.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "runner/agreed_error.h"
#include "runner/base/json_text.h"
#include "runner/base/system_facts.h"
#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/documents.h"
#include "runner/remarks.h"
#include "runner/stop_signals.h"
#include "runner/together.h"
#include "runner/watched_workload.h"

namespace runner {
namespace {

using base::ExitCode;
using Json = nlohmann::json;

struct StageOptions {
  std::shared_ptr<ConfigSource> source;
  bool dry_run = false, list = false, verify = false, remove = false;
  std::string json;
  std::shared_ptr<const CommandParts> parts;
};

void print_plan(const Json& facts, const StageOptions& options) {
  if (!options.json.empty()) return write_document(facts, options.json, std::cout);
  print_facts(facts, std::cout);
}

std::string line_of(const Json& copy) {
  const auto is = [&copy](const char* what) { return copy.at(what).get<bool>(); };
  const auto damage = copy.at("damage").get<std::string>();
  return fmt::format("{}: {}  {} bytes of {}, by {}{}{}{}{}", copy.at("host").get<std::string>(),
                     copy.at("directory").get<std::string>(), copy.at("bytes").get<std::int64_t>(),
                     copy.at("source").get<std::string>(), copy.at("made_by").get<std::string>(),
                     is("is_kept") ? ", kept" : "", is("is_complete") ? "" : ", not complete",
                     is("is_used") ? ", in use" : "", is("is_removed") ? ": removed" : "") +
         (damage.empty() ? "" : "  DAMAGED: " + damage);
}

StagedCopies wish_of(const StageOptions& options) {
  if (options.remove) return StagedCopies::kRemoveUnused;
  return options.verify ? StagedCopies::kVerify : StagedCopies::kList;
}

void print_copies(const Json& copies, const std::string& folder, const StageOptions& options) {
  if (!options.json.empty()) {
    write_document({{"folder", folder}, {"copies", copies}}, options.json, std::cout);
    return;
  }
  for (const Json& copy : copies) std::cout << base::printable(line_of(copy)) << '\n';
  if (copies.empty()) std::cout << "no staged copies in " << base::printable(folder) << '\n';
}

/// Collective. Lists, verifies or removes the copies on all nodes. kData if one that was verified
/// is damaged.
ExitCode show_copies(const StageOptions& options, const Communicator& world,
                     const std::string& folder) {
  const Topology topology = discover_topology(world);
  Json mine = Json::array();
  together(world, [&] {
    if (!topology.is_node_leader()) return;
    mine = options.parts->staged_copies(folder, wish_of(options));
    for (Json& copy : mine) copy["host"] = base::host_name();
  });
  Json copies = Json::array();
  std::int64_t damaged = 0;
  for (const Json& copy : mine) damaged += copy.at("damage").get<std::string>().empty() ? 0 : 1;
  const bool has_failed = world.allreduce_max(options.verify ? damaged : 0) > 0;
  for (const std::string& part : world.gather(base::json_line(mine), 0)) {
    for (Json& copy : Json::parse(part)) copies.push_back(std::move(copy));
  }
  if (world.rank() == 0) print_copies(copies, folder, options);
  return has_failed ? ExitCode::kData : ExitCode::kSuccess;
}

/// Collective. Null if a signal ended the work.
std::optional<Json> until_stopped(const std::function<Json()>& work) {
  try {
    return work();
  } catch (const AgreedError& e) {
    if (e.code() != ExitCode::kStopped) throw;
    return std::nullopt;
  }
}

/// Call on one rank.
ExitCode print_stopped(const StopSignals& signals) {
  const std::string by = to_string(signals.requested());
  std::cerr << fmt::format(
                   "trainmark: stage: stopped by {}: what is copied stays, and the same command "
                   "goes on from there",
                   by.empty() ? "a signal to another rank" : by)
            << std::endl;
  return ExitCode::kStopped;
}

ExitCode stage(const StageOptions& options, const Communicator& world) {
  const RunConfig& config = *options.source->config;
  if (options.list || options.verify || options.remove) {
    return show_copies(
        options, world,
        config.reader.resolved().value("/staging/directory"_json_pointer, std::string()));
  }
  const StopSignals signals;
  const WatchedWorkload workload(*options.source, world);
  world.activity().enter_phase("staging");
  workload->open_data();
  // Only for a plan, which looks at every sample; stage() makes its own plan.
  const std::optional<Json> done =
      until_stopped([&] { return options.dry_run ? workload->staging_plan() : workload->stage(); });
  if (!done) return world.rank() == 0 ? print_stopped(signals) : ExitCode::kStopped;
  const Json& facts = *done;
  if (facts.is_null() || facts.value("/train/mode"_json_pointer, "") == "stream") {
    throw base::ConfigError(
        options.source->config->file +
        ": /staging/mode: expected auto, shard, scatter or full, as stream copies nothing");
  }
  report_remarks(world, *workload);
  if (world.rank() == 0) print_plan(facts, options);
  workload.wait_for_all();
  return ExitCode::kSuccess;
}

}  // namespace

std::vector<base::Command> staging_commands(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "stage";
  command.summary =
      "copy what a run's nodes need near them, packed and checked, and keep it for later runs";
  command.example =
      "mpirun -n 2 trainmark stage configs/resnet50/mlperf.json --dry-run\n"
      "  mpirun -n 2 trainmark stage configs/resnet50/mlperf.json --set staging.directory=/nvme\n"
      "  mpirun -n 2 trainmark stage configs/resnet50/mlperf.json --clean";
  command.needs_mpi = true;
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<StageOptions>();
    options->parts = parts;
    options->source =
        declare_config(app, parts->workloads, [options = options.get()](const WorkloadEntry&) {
          require_outputs(*options->source, {{"--json", options->json}});
        });
    // Copies staged ahead outlive the runs that use them, which can then rely on them.
    options->source->forced = {"staging.overlap=false", "staging.keep=true", "staging.verify=true"};
    app.add_flag("--dry-run", options->dry_run,
                 "tell what would be copied and whether it fits; write nothing");
    auto* list = app.add_flag("--list", options->list,
                              "list the copies in staging.directory on every node, kept for later "
                              "runs or left by jobs that died");
    auto* verify = app.add_flag("--verify", options->verify,
                                "read the copies in staging.directory on every node in full and "
                                "list what is damaged, of which later runs copy the damaged packs "
                                "anew; exit code 3 if "
                                "anything is")
                       ->excludes(list);
    app.add_flag("--clean,--remove", options->remove,
                 "remove the copies in staging.directory on every node, but for those that a run "
                 "uses: exactly what staging wrote")
        ->excludes(list)
        ->excludes(verify);
    app.add_flag_callback(
        "--no-verify",
        [source = options->source] { source->forced.back() = "staging.verify=false"; },
        "neither read copies that are there in full, nor flush new ones and read them back: "
        "faster, "
        "but a power cut may damage them, which their checksums show when they are read");
    app.add_option("--json", options->json,
                   "write the plan, or what was done, as JSON to this file; '-' for standard "
                   "output");
    return [options](Communicator* world) { return stage(*options, *world); };
  };
  return {command};
}

}  // namespace runner
