// bench and generate: commands that each workload implements, and benchmarks of the machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "runner/agreed_error.h"
#include "runner/base/object_reader.h"
#include "runner/base/output_options.h"
#include "runner/base/printable.h"
#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/documents.h"
#include "runner/progress_thread.h"
#include "runner/provenance.h"
#include "runner/together.h"
#include "runner/tune_command.h"
#include "runner/watchdog.h"

namespace runner {
namespace {

using base::ExitCode;
using Json = nlohmann::json;

using Action = base::Command::Action;
/// A subcommand. `check` throws ConfigError once the options are parsed.
struct Declared {
  Action action;  ///< null if there is no such subcommand
  std::function<void()> check;
};
using DeclareOne = std::function<Declared(CLI::App& app, const WorkloadEntry& entry)>;
using Parts = std::shared_ptr<const CommandParts>;

/// Names of the workloads that have `option`.
std::string owners_of(const std::string& option, const CLI::App& command) {
  std::string owners;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (one->get_option_no_throw(option) == nullptr) continue;
    owners += (owners.empty() ? "" : ", ") + one->get_name();
  }
  return owners;
}

std::string option_in(const std::string& argument) {
  return argument.substr(0, argument.find('='));
}

/// Throws ConfigError for an argument that the subcommand `one` of `command` does not accept.
void refuse(const std::string& argument, const CLI::App& command, const CLI::App& one) {
  const std::string option = option_in(argument), owners = owners_of(option, command);
  std::vector<std::string> names;
  for (const CLI::Option* known : one.get_options()) names.push_back(known->get_name());
  const std::string near = base::nearest_name(option, names);
  std::string hint;
  if (!owners.empty()) {
    hint = ", only to " + owners;
  } else if (!near.empty()) {
    hint = "; did you mean '" + near + "'?";
  }
  throw base::ConfigError(fmt::format("{} {}: {} means nothing here{}", command.get_name(),
                                      one.get_name(), option, hint));
}

/// Throws ConfigError for an argument in place of a subcommand's name, or before it. `others`: the
/// subcommands that are no workloads.
void refuse(const std::string& argument, const CLI::App& command,
            const std::vector<WorkloadEntry>& workloads, const std::vector<std::string>& others) {
  const std::string option = option_in(argument), owners = owners_of(option, command);
  if (!owners.empty()) {
    throw base::ConfigError(
        fmt::format("{}: {}: must follow {}", command.get_name(), option, owners));
  }
  const std::string near = base::nearest_name(argument, others);
  if (!near.empty()) {
    throw base::ConfigError(fmt::format("{}: nothing is called '{}'; did you mean '{}'?",
                                        command.get_name(), argument, near));
  }
  const WorkloadEntry& entry = find_workload(workloads, argument, "WORKLOAD", others);
  throw base::ConfigError(fmt::format("WORKLOAD: {} has no {}", entry.name, command.get_name()));
}

/// The subcommands of a command; the action of the chosen one is the command's.
class Subcommands {
 public:
  explicit Subcommands(CLI::App& app) : app_(app) {
    app.require_subcommand(0, 1);
    app.allow_extras();  // unknown names are refused below, with a list of workloads
  }
  void add(const char* name, const char* summary,
           const std::function<Declared(CLI::App& app)>& declare) {
    CLI::App* const one = app_.add_subcommand(name, summary);
    const Declared declared = declare(*one);
    if (!declared.action) {
      app_.remove_subcommand(one);
      return;
    }
    one->final_callback([&app = app_, one, chosen = chosen_, declared] {
      if (!one->remaining().empty()) refuse(one->remaining().front(), app, *one);
      if (declared.check) declared.check();
      *chosen = declared.action;
    });
  }
  void add_workloads(const Parts& parts, const DeclareOne& declare) {
    for (const WorkloadEntry& entry : parts->workloads) {
      add(entry.name, entry.summary, [&](CLI::App& one) { return declare(one, entry); });
    }
  }
  Action action(const Parts& parts, const std::vector<std::string>& others) {
    app_.final_callback([&app = app_, chosen = chosen_, parts, others] {
      const std::vector<std::string> rest = app.remaining();
      if (*chosen && rest.empty()) return;
      refuse(rest.empty() ? "" : rest.front(), app, parts->workloads, others);
    });
    return [chosen = chosen_](Communicator* world) { return (*chosen)(world); };
  }

 private:
  CLI::App& app_;
  std::shared_ptr<Action> chosen_ = std::make_shared<Action>();
};

struct BenchCall {
  BenchOptions options;
  std::int64_t threads = 0;
  CpuConfig cpus;
  TuneCall tuning;
  std::string json;
};

/// The options that all benches share.
void declare_machine_options(CLI::App& app, BenchCall& call) {
  app.add_option("--threads", call.threads,
                 "compute threads of a rank; 0: OMP_NUM_THREADS, or its share of the CPUs")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_flag("!--no-bind", call.cpus.binds,
               "leave the ranks of a node on the same CPUs, if the launcher did");
  app.add_flag("!--one-hardware-thread", call.cpus.all_hardware_threads,
               "a compute thread for each core, not for each of its hardware threads");
  app.add_option("--spare-cores", call.cpus.spare_cores,
                 "cores of each rank that get no compute thread")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--progress", [&call](const std::string& name) { call.cpus.progress = progress_of(name); },
         "what goes on with exchanges while a rank computes: the rank between layers, or also a "
         "thread; auto: a thread where cores are spared")
      ->check(CLI::IsMember({"auto", "layers", "thread"}))
      ->default_str("auto");
  app.add_option("--json", call.json,
                 "write the result as JSON to this file; '-' for standard output");
}

/// The options that all workloads share.
void declare_bench_options(CLI::App& app, BenchCall& call) {
  BenchOptions& options = call.options;
  const auto number = [&](const char* name, std::int64_t& value, int least, int most,
                          const char* help) {
    app.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
  };
  number("--batch", options.batch, 0, 65536,
         "samples per rank and step; 0: the workload's usual number");
  number("--steps", options.steps, 1, 1000000, "timed steps");
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
  app.add_option("--seed", options.seed, "seed of weights and data")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  number("--limit", options.limit_repetitions, 0, 1000000,
         "measure the library's products alone, between the steps and at least so often; the best "
         "time of each counts. 0: not at all");
  app.add_flag("--layers", options.layers,
               "a table of all layers: times, GFLOP/s, bytes, implementation, what bounds each");
  declare_machine_options(app, call);
}

/// Throws ConfigError for an option before the subcommand `one` of `command` that `one` lacks.
void refuse_unused(const CLI::App& command, const CLI::App& one) {
  for (const CLI::Option* const option : command.get_options()) {
    if (option->count() == 0 || one.get_option_no_throw(option->get_name()) != nullptr) continue;
    refuse(option->get_name(), command, one);
  }
}

/// Throws ConfigError if an output of a bench would replace an input, or another output. Not every
/// workload has files of methods.
void require_bench_files(const BenchCall& call, const CLI::App& app) {
  const auto value_of = [&](const char* name) {
    const CLI::Option* const option = app.get_option_no_throw(name);
    return option == nullptr || option->count() == 0 ? "" : option->as<std::string>();
  };
  const std::string methods = value_of("--methods");
  base::require_files(
      {{"--json", call.json}, {"--methods", methods}, {"--tune", call.tuning.config}});
  for (const std::string& output : {call.json, methods}) {
    if (!output.empty() && output != "-") {
      base::refuse_to_overwrite(output, {value_of("--use-methods")});
    }
  }
}

struct Measured {
  Json result, provenance;  ///< the latter on rank 0

  void write(const std::string& target) {
    result["provenance"] = std::move(provenance);
    write_document(result, target, std::cout);
  }
};

/// Collective. What `measure` finds with the threads that the call gives each rank.
Measured measure_with(const BenchCall& call, const CommandParts& parts, const Communicator& world,
                      const std::function<Json(const Surroundings&)>& measure) {
  const Watchdog watchdog(world, watch_options({}));
  const Topology topology = discover_topology(world);
  const Place place = take_place(call.cpus, call.threads, world, topology.node);
  const std::string over = oversubscription(place.threads, world);
  if (!over.empty()) std::cerr << "WARNING: " << base::printable(over) << '\n';
  for (const std::string& fault : place.faults) {
    std::cerr << "WARNING: " << base::printable(fault) << '\n';
  }
  const auto progress = ProgressThread::start(world, place);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock, &world.activity());
  const Accounting accounting = world.account_to(telemetry);
  Json result = measure({world, topology, telemetry, place.threads.threads});
  return {std::move(result), gather_provenance(world, topology, place, parts.libraries())};
}

ExitCode run_bench(const Bench& bench, const BenchCall& call, const CommandParts& parts,
                   const Communicator& world) {
  Measured measured = measure_with(
      call, parts, world, [&](const Surroundings& around) { return bench(call.options, around); });
  if (world.rank() != 0) return ExitCode::kSuccess;
  if (call.json.empty()) {
    print_facts(measured.result, std::cout);
  } else {
    measured.write(call.json);
  }
  return ExitCode::kSuccess;
}

ExitCode run_machine_bench(const DeclaredMachineBench& bench, const BenchCall& call,
                           const CommandParts& parts, const Communicator& world) {
  std::ostream& table = call.json == "-" ? std::cerr : std::cout;
  Measured measured = measure_with(
      call, parts, world, [&](const Surroundings& around) { return bench.measure(around, table); });
  on_rank_0(world, [&] {
    if (!call.json.empty()) measured.write(call.json);
  });
  const Json& failure = measured.result.at("failure");
  if (failure.is_string()) throw AgreedError(ExitCode::kSystem, failure.get<std::string>());
  return ExitCode::kSuccess;
}

base::Command bench_command(const Parts& parts) {
  base::Command command;
  command.name = "bench";
  command.summary =
      "a short timed training on data in memory: samples/s, FLOP/s, breakdown; or the exchanges "
      "between ranks";
  command.example = "trainmark bench resnet50 --batch 32 --threads 2 --steps 10 --json -";
  command.needs_mpi = true;
  const auto call = std::make_shared<BenchCall>();
  command.stays_alone = [call] { return !call->tuning.config.empty(); };
  command.declare = [parts, call](CLI::App& app) {
    declare_bench_options(app, *call);
    Subcommands benches(app);
    benches.add_workloads(parts, [&](CLI::App& one, const WorkloadEntry& entry) -> Declared {
      if (entry.declare_bench == nullptr) return {};
      one.footer(fmt::format("Example:\n  trainmark bench {} --threads 2 --layers", entry.name));
      declare_bench_options(one, *call);
      declare_tuning(one, call->tuning);
      const Bench bench = entry.declare_bench(one);
      return {[bench, call, parts, &one](Communicator* world) {
                if (world == nullptr) return tune(call->tuning, bench_line(one));
                return run_bench(bench, *call, *parts, *world);
              },
              [call, &one] { require_bench_files(*call, one); }};
    });
    std::vector<std::string> others;
    for (const MachineBench& entry : parts->machine_benches) {
      others.emplace_back(entry.name);
      benches.add(entry.name, entry.summary, [&](CLI::App& one) -> Declared {
        one.footer(fmt::format("Example:\n  mpirun -n 2 trainmark bench {} {}", entry.name,
                               entry.example));
        declare_machine_options(one, *call);
        const DeclaredMachineBench bench = entry.declare(one);
        return {[bench, call, parts](Communicator* world) {
                  return run_machine_bench(bench, *call, *parts, *world);
                },
                [&app, &one, bench, call] {
                  refuse_unused(app, one);
                  base::require_files({{"--json", call->json}});
                  bench.check();
                }};
      });
    }
    return benches.action(parts, others);
  };
  return command;
}

base::Command generate_command(const Parts& parts) {
  base::Command command;
  command.name = "generate";
  command.summary = "write a learnable synthetic dataset in a workload's on-disk format";
  command.example = "trainmark generate resnet50 build/data";
  command.declare = [parts](CLI::App& app) {
    Subcommands workloads(app);
    workloads.add_workloads(parts, [](CLI::App& one, const WorkloadEntry& entry) -> Declared {
      if (entry.declare_generate == nullptr) return {};
      one.footer(fmt::format("Example:\n  trainmark generate {0} build/{0}", entry.name));
      return {[generate = entry.declare_generate(one)](Communicator*) { return generate(); }, {}};
    });
    return workloads.action(parts, {});
  };
  return command;
}

}  // namespace

std::vector<base::Command> workload_commands(const std::shared_ptr<const CommandParts>& parts) {
  return {generate_command(parts), bench_command(parts)};
}

}  // namespace runner
