// bench and generate: what a workload offers beside training.
// Hides their options.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runner/base/system_facts.h"
#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/documents.h"
#include "runner/provenance.h"
#include "runner/watchdog.h"

namespace runner {
namespace {

using base::ExitCode;
using Json = nlohmann::json;

struct BenchCall {
  std::string workload;
  const WorkloadEntry* entry = nullptr;
  BenchOptions options;
  std::int64_t threads = 0;
  std::string json;
};

/// Before the help of an option that only some workloads have.
std::string for_whom(const std::vector<WorkloadEntry>& workloads, const std::string& option) {
  return runner::for_whom(names_of(workloads, [&](const WorkloadEntry& entry) {
    return std::ranges::count(entry.bench_options, option) > 0;
  }));
}

/// An option that means nothing to the workload is refused, whatever its value.
void refuse_others(const CLI::App& app, const WorkloadEntry& chosen,
                   const std::vector<WorkloadEntry>& workloads) {
  for (const WorkloadEntry& entry : workloads) {
    for (const std::string& option : entry.bench_options) {
      if (std::ranges::count(chosen.bench_options, option) > 0) continue;
      if (app.get_option(option)->count() == 0) continue;
      throw base::ConfigError(fmt::format("bench {}: {} means nothing here, only to {}",
                                          chosen.name, option, entry.name));
    }
  }
}

void declare_bench_options(CLI::App& app, const std::vector<WorkloadEntry>& workloads,
                           BenchCall& call) {
  BenchOptions& options = call.options;
  const auto number = [&](const char* name, std::int64_t& value, int least, int most,
                          const char* help) {
    app.add_option(name, value, for_whom(workloads, name) + help)
        ->check(CLI::Range(least, most))
        ->capture_default_str();
  };
  number("--batch", options.batch, 0, 65536,
         "samples per rank and step; 0: the workload's usual number");
  const auto choice = [&](const char* name, std::string& value, const char* help) {
    return app.add_option(name, value, for_whom(workloads, name) + help);
  };
  choice("--config", options.config, "the model: small, or mlperf-mini, which is the usual one");
  number("--steps", options.steps, 1, 1000000, "timed steps");
  number("--image-size", options.image_size, 8, 4096, "height and width of the input");
  number("--size", options.size, 2, 1024, "voxels of the input along each axis");
  number("--height", options.height, 16, 16384, "points of the input from north to south");
  number("--width", options.width, 16, 16384, "points of the input from west to east");
  number("--classes", options.classes, 2, 1000000, "classes of the output");
  number("--warmup", options.warmup_steps, 0, 1000000, "steps before the clock starts");
  app.add_option("--precision", options.precision, "arithmetic of the layers")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_option(
         "--products", options.products,
         "what layers multiply. In bf16: pairs of bfloat16 numbers, or floats; auto: what this CPU "
         "is faster at. In f32: floats, in three bfloat16 parts each by auto and pairs where the "
         "CPU has matrix tiles and that is faster")
      ->check(CLI::IsMember({"auto", "pairs", "floats"}))
      ->capture_default_str();
  choice("--recompute", options.recompute,
         "what the backward pass makes again in place of keeping it")
      ->check(CLI::IsMember({"none", "normalizations", "blocks"}))
      ->capture_default_str();
  choice(
      "--table-update", options.table_update,
      "how threads share the update of a table; without it as update rule, storage and ids per "
      "bag have it. With locked and atomic and several threads two runs may end in different bits")
      ->check(CLI::IsMember({"reference", "locked", "atomic", "race_free", "sorted"}));
  choice("--table-storage", options.table_storage,
         "f32 or split_bf16; without it as --precision has it")
      ->check(CLI::IsMember({"f32", "split_bf16"}));
  choice("--alltoall", options.alltoall, "how outputs go between ranks")
      ->check(CLI::IsMember({"scatter_list", "scatter", "alltoall"}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of weights and data")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  number("--limit", options.limit_repetitions, 0, 1000000,
         "measure the library's products alone, between the steps and at least so often; the best "
         "time of each counts. 0: not at all");
  app.add_flag("--layers", options.layers,
               "a table of all layers: times, GFLOP/s, bytes, implementation, what bounds each");
  choice("--methods", options.methods_to,
         "time every method that a convolution's shape permits, and write those that are faster "
         "than what is used to this file, for --use-methods and the key training.methods");
  choice("--use-methods", options.use_methods, "make convolutions as such a file says");
  number("--threads", call.threads, 0, 4096,
         "compute threads of a rank; 0: OMP_NUM_THREADS, or its share of the CPUs");
  app.add_option("--json", call.json,
                 "write the result as JSON to this file; '-' for standard output");
}

ExitCode bench(const BenchCall& call, const CommandParts& parts, const Communicator& world) {
  const Watchdog watchdog(world, watch_options({}));
  const Topology topology = discover_topology(world);
  const Binding binding = current_binding();
  const ThreadPlan threads = plan_threads(call.threads, binding, topology.node);
  const std::string over = oversubscription(threads, world);
  if (!over.empty()) std::cerr << "WARNING: " << over << '\n';
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock, &world.activity());
  const Surroundings around{world, topology, telemetry, threads.threads};
  const Accounting accounting = world.account_to(telemetry);
  Json result = call.entry->bench(call.options, around);
  const Json provenance = gather_provenance(world, topology, binding, threads, parts.libraries());
  if (world.rank() != 0) return ExitCode::kSuccess;
  if (call.json.empty()) {
    print_facts(result, std::cout);
    return ExitCode::kSuccess;
  }
  result["provenance"] = provenance;
  write_document(result, call.json, std::cout);
  return ExitCode::kSuccess;
}

base::Command bench_command(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "bench";
  command.summary = "a short timed training on data in memory: samples/s, FLOP/s, breakdown";
  command.example = "trainmark bench resnet50 --batch 32 --threads 2 --steps 10 --json -";
  command.needs_mpi = true;
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto call = std::make_shared<BenchCall>();
    app.add_option("WORKLOAD", call->workload, "name of the workload")->required();
    declare_bench_options(app, parts->workloads, *call);
    app.callback([&app, call, parts] {
      call->entry = &find_workload(parts->workloads, call->workload, "WORKLOAD");
      if (call->entry->bench == nullptr) {
        throw base::ConfigError("WORKLOAD: " + call->workload + " has no bench");
      }
      refuse_others(app, *call->entry, parts->workloads);
    });
    return [call, parts](Communicator* world) { return bench(*call, *parts, *world); };
  };
  return command;
}

base::Command generate_command(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "generate";
  command.summary = "write a learnable synthetic dataset in a workload's on-disk format";
  command.example = "trainmark generate resnet50 build/data";
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto chosen = std::make_shared<std::function<ExitCode()>>();
    app.allow_extras();  // what is no workload is refused below, with the names that are
    for (const WorkloadEntry& entry : parts->workloads) {
      if (!entry.generate) continue;
      CLI::App* one = app.add_subcommand(entry.name, entry.summary);
      one->allow_extras(false);
      one->footer(fmt::format("Example:\n  trainmark generate {0} build/{0}", entry.name));
      const auto action = entry.generate(*one);
      one->final_callback([chosen, action] { *chosen = action; });
    }
    app.final_callback([&app, chosen, parts] {
      const std::vector<std::string> rest = app.remaining();
      if (*chosen && !rest.empty()) throw CLI::ExtrasError(rest);
      if (!*chosen) find_workload(parts->workloads, rest.empty() ? "" : rest.front(), "WORKLOAD");
    });
    return [chosen](Communicator*) { return (*chosen)(); };
  };
  return command;
}

}  // namespace

std::vector<base::Command> workload_commands(const std::shared_ptr<const CommandParts>& parts) {
  return {generate_command(parts), bench_command(parts)};
}

}  // namespace runner
