// run: stages, trains, evaluates, logs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/documents.h"
#include "runner/dry_run.h"
#include "runner/launch/advice.h"
#include "runner/launch/shell_word.h"
#include "runner/lost_launcher.h"
#include "runner/placement.h"
#include "runner/plan_check.h"
#include "runner/progress_thread.h"
#include "runner/rules_options.h"
#include "runner/stop_signals.h"
#include "runner/system_name.h"
#include "runner/together.h"
#include "runner/watchdog.h"

namespace runner {
namespace {

using base::ExitCode;
using Json = nlohmann::json;

struct RunOptions {
  std::shared_ptr<ConfigSource> source;
  std::int64_t runs = 1;
  std::optional<std::int64_t> only;
  bool together = false;
  double together_timeout_s = kDefaultStartTimeoutS;
  bool resumes = false, resumes_or_starts = false;
  std::string resume;  ///< "" with `resumes`: the configuration's folder of checkpoints
  bool dry_run = false;
  std::string json;
  std::optional<telemetry::StepRange> trace;
  RulesOptions rules;

  Beginning beginning() const { return resumes ? Beginning::kResumed : Beginning::kAnew; }
};

/// The command that continues the set. Omits a job's scratch folder, which is gone by then.
std::string command_of(const RunOptions& options) {
  const bool in_job = !launch::job_text(launch::allocation_of(launch::environment())).empty();
  std::string command = "trainmark run " + launch::shell_word(options.source->path);
  for (const std::string& one : options.source->overrides) {
    if (in_job && one.starts_with("staging.directory=")) continue;
    command += " --set " + launch::shell_word(one);
  }
  command += fmt::format(" --runs {}", options.runs);
  if (!options.rules.round.empty())
    command += " --round " + launch::shell_word(options.rules.round);
  return options.together ? command + " --together --only MEMBER" : command;
}

RunSetPlan plan_of(const RunOptions& options, const RunConfig& config) {
  RunSetPlan plan;
  plan.runs = options.runs;
  plan.only = options.only;
  plan.kind = options.together ? SetKind::kTogether : SetKind::kOneByOne;
  plan.start_timeout_s = options.together_timeout_s;
  plan.invocation = {command_of(options), options.rules.round};
  plan.trace = options.trace;
  if (options.resumes_or_starts) plan.nothing_saved = NothingSaved::kBegin;
  if (options.resumes || options.resumes_or_starts) {
    plan.resume = options.resume.empty() ? checkpoints_folder(config) : options.resume;
  }
  return plan;
}

ExitCode dry_run(const RunOptions& options, const CommandParts& parts, const Communicator& world) {
  RunConfig config = *options.source->config;
  const Topology topology = discover_topology(world);
  name_system(config, world, topology);
  const Place place = take_place(config.cpus, config.threads, world, topology.node);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const Surroundings around{world, topology, telemetry, place.threads.threads};
  const auto workload = options.source->entry->make(config, around);
  const MemoryNeeds memory = options.source->entry->memory_needs(config, planned_rank(around));
  PlanVerdict verdict;
  if (options.rules.mode == RulesMode::kOff) {
    workload->open_data();
  } else {
    verdict = judge_plan(config, *workload, options.rules, options.beginning(), parts.audit_plan,
                         around, clock);
  }
  const ExitCode code = verdict.refused ? ExitCode::kNonCompliant : ExitCode::kSuccess;
  Json plan = plan_run(config, plan_of(options, config), *workload, memory, around, place,
                       parts.checkpoint_format);
  plan["rules"] = to_json(verdict);
  if (world.rank() != 0) return code;
  if (!options.json.empty()) {
    write_document(plan, options.json, std::cout);
  } else {
    print_facts(plan, std::cout);
  }
  return code;
}

/// Collective. Judges the run with a workload of its own, before any part of the run exists: also
/// without rules, a dataset that is missing is found before a log is begun.
PlanVerdict judge_before(const RunOptions& options, const RunConfig& config,
                         const CommandParts& parts, const Communicator& world,
                         const Topology& topology, const Place& place, const base::Clock& clock) {
  telemetry::Telemetry telemetry(clock, &world.activity());
  const Surroundings around{world, topology, telemetry, place.threads.threads};
  std::unique_ptr<Workload> workload;
  together(world, [&] { workload = options.source->entry->make(config, around); });
  world.activity().enter_phase("initialisation");
  if (options.rules.mode != RulesMode::kOff) {
    return judge_plan(config, *workload, options.rules, options.beginning(), parts.audit_plan,
                      around, clock);
  }
  workload->open_data();
  return {};
}

/// The document of `run --json` for a refused run.
Json refusal_document(const PlanVerdict& verdict) {
  Json document = failure_document(
      {ExitCode::kNonCompliant, fmt::format("--rules strict: the run breaks {} of the rules of {}",
                                            count_errors(verdict.breaks), verdict.rules->round())});
  document["rules"] = to_json(verdict);
  return document;
}

/// Reports `failure`; an error in doing so must not replace it.
void print_failure(const base::Failure& failure, ResultSink& result, Console& console) {
  try {
    result.write(failure_document(failure));
  } catch (const base::Error& e) {
    console.warn(e.what());
  }
}

/// Seconds between a job's SIGTERM and its last words, which must be written before it is killed:
/// within 0.25 s under Open MPI 5's mpirun, and at least 5 s under schedulers (Flux). At a terminal
/// there is no limit: 0.
double grace_s(const launch::Environment& environment) {
  const launch::LauncherKind kind = launch::kind_of(environment);
  if (kind == launch::LauncherKind::kMpirun) return 0.1;
  const bool is_alone = kind == launch::LauncherKind::kNone;
  return is_alone && launch::allocation_of(environment).scheduler.empty() ? 0.0 : 3.0;
}

/// Says on rank 0 which CPUs the ranks of its node have; warns of nodes and CPUs that this run
/// leaves idle without having been asked to.
void advise(const RunConfig& config, const Communicator& world, const Topology& topology,
            const Place& place, Console& console) {
  if (world.rank() != 0) return;
  const ThreadPlan& threads = place.threads;
  console.info(place.summary);
  for (const std::string& fault : place.faults) console.warn(fault);
  const launch::Environment environment = launch::environment();
  const launch::Allocation allocation = launch::allocation_of(environment);
  const std::string nodes = launch::unused_nodes(allocation, topology.node_count);
  if (!nodes.empty()) console.warn(nodes);
  const std::string alone = launch::lone_task(environment, world.size());
  if (!alone.empty()) console.warn(alone);
  if (!threads.limited_by.empty()) {
    console.warn(
        fmt::format("{}: OpenMP gives a rank {}, its CPUs allow more: unset it to use them",
                    base::printable(threads.limited_by), base::counted(threads.threads, "thread")));
  }
  if (place.bound_by == BoundBy::kProgram) return;  // which told what is idle
  if (config.threads > 0 || environment.contains("OMP_NUM_THREADS")) return;
  const std::int64_t machine = allowed_cpus();
  const std::int64_t for_job = allocation.node_cpus > 0 ? allocation.node_cpus : machine;
  const std::string cpus = launch::idle_cpus(environment, topology.node.size(), threads.node_cpus,
                                             std::min(machine, for_job));
  if (!cpus.empty()) console.warn(cpus);
}

ExitCode run(const RunOptions& options, const CommandParts& parts, const Communicator& world) {
  if (options.dry_run) return dry_run(options, parts, world);
  StopSignals signals;
  const LostLauncher lost_launcher;
  const base::SystemClock clock;
  Console console(std::cerr, Console::style_of_stderr(world.rank()), clock);
  RunConfig config = *options.source->config;
  WatchOptions watch = watch_options(config.watch, [&] { return signals.requested(); });
  watch.grace_s = grace_s(launch::environment());
  Watchdog watchdog(world, std::move(watch));
  const Topology topology = discover_topology(world);
  name_system(config, world, topology);
  const Place place = take_place(config.cpus, config.threads, world, topology.node);
  const auto progress = ProgressThread::start(world, place);
  if (options.runs == 1) advise(config, world, topology, place, console);
  ResultSink result(options.json, std::cout);
  try {
    const PlanVerdict verdict = judge_before(options, config, parts, world, topology, place, clock);
    print_verdict(verdict, config, console);
    if (verdict.refused) {
      if (world.rank() == 0) result.write(refusal_document(verdict));
      return ExitCode::kNonCompliant;
    }
    const RunSetDoors doors{world,
                            topology,
                            place,
                            clock,
                            console,
                            std::cout,
                            [&signals] { return signals.requested(); },
                            [&signals] { return signals.take_checkpoint_request(); },
                            parts.make_state_writer,
                            parts.checkpoint_format,
                            parts.libraries(),
                            parts.summarize_set,
                            result,
                            &watchdog,
                            verdict.rules ? &*verdict.rules : nullptr};
    return run_set(config, plan_of(options, config), options.source->entry->make, doors);
  } catch (const std::exception& e) {
    if (world.rank() == 0) print_failure(base::failure_of(e), result, console);
    throw;
  }
}

void check_run_options(const RunOptions& options) {
  require_outputs(*options.source, {{"--json", options.json}}, {options.resume});
  if (!options.only) return;
  if (options.runs < 2) throw base::ConfigError("run: --only is for sets: expected --runs above 1");
  if (*options.only <= options.runs) return;
  throw base::ConfigError(fmt::format("run: --only: expected a member from 1 to {}, got {}",
                                      options.runs, *options.only));
}

/// Declares --runs, which it returns, and the options of sets.
CLI::Option* declare_set(CLI::App& app, RunOptions& options) {
  auto* runs =
      app.add_option("--runs", options.runs,
                     "the number of runs; above 1 a set, each with its own seed, derived from "
                     "the configuration's. The same command again runs what is missing")
          ->check(CLI::Range(1, 1000000))
          ->capture_default_str();
  auto* only =
      app.add_option("--only", options.only,
                     "run this member of the set alone, counted from 1: what a job array gives")
          ->type_name("MEMBER")
          ->needs(runs)
          ->check(CLI::Range(1, 1000000));
  auto* together =
      app.add_flag("--together", options.together,
                   "all members of the set train at the same time (weak scaling), each started "
                   "by itself with its --only: each waits before run_start until all are ready")
          ->needs(only);
  app.add_option("--together-timeout", options.together_timeout_s,
                 "seconds that a member waits for the others")
      ->needs(together)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return runs;
}

/// Declares --resume, which it returns, and --resume-or-start.
CLI::Option* declare_resume(CLI::App& app, RunOptions& options, CLI::Option* runs) {
  auto* resume =
      app.add_option("--resume", options.resume,
                     "go on from this checkpoint, or the newest of a folder of them, which this "
                     "run then adds to; without PATH: the newest of this configuration (and "
                     "seed, where it gives one) that no live run owns. SIGUSR1 saves a run at "
                     "once, SIGUSR2 saves and ends it")
          ->type_name("[PATH]")
          ->expected(0, 1)
          ->excludes(runs);
  app.add_flag("--resume-or-start", options.resumes_or_starts,
               "as --resume without PATH, but begin a run where there is none that a signal or "
               "fault ended: for jobs that are started again until they are done")
      ->excludes(runs)
      ->excludes(resume);
  return resume;
}

void declare_trace(CLI::App& app, RunOptions& options, CLI::Option* dry_run) {
  app.add_option_function<std::string>(
         "--trace",
         [&options](const std::string& text) {
           try {
             options.trace = telemetry::parse_step_range(text);
           } catch (const base::ConfigError& e) {
             throw base::ConfigError(fmt::format("--trace: {}", e.what()));
           }
         },
         "write what every rank did in these training steps, counted from 1, and how far "
         "transfers were hidden, beside the log as result_<n>.trace.json for Perfetto or "
         "chrome://tracing. Takes 60 MiB of a rank at most; an aborted run leaves none")
      ->type_name("FIRST:LAST")
      ->excludes(dry_run);
}

base::Command run_command(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "run";
  command.summary = "stage, train to the target, evaluate, log; alone or under mpirun";
  command.example =
      "mpirun -n 2 --bind-to none trainmark run configs/resnet50/cifar10.json --set seed=7\n"
      "  trainmark run configs/resnet50/cifar10.json --set checkpoint.every_minutes=10\n"
      "  trainmark run configs/resnet50/cifar10.json --resume\n"
      "  trainmark run configs/resnet50/cifar10.json --runs 5 --json set.json\n"
      "  srun --mpi=pmix trainmark run configs/resnet50/cifar10.json --resume-or-start\n"
      "  mpirun -n 2 trainmark run configs/resnet50/cifar10.json --trace 10:12\n"
      "  trainmark run configs/resnet50/mlperf.json --rules strict --round training-4.0 --dry-run";
  command.needs_mpi = true;
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<RunOptions>();
    options->source = declare_config(
        app, parts->workloads,
        [options = options.get()](const WorkloadEntry&) { check_run_options(*options); });
    auto* const resume = declare_resume(app, *options, declare_set(app, *options));
    declare_rules(app, options->rules);
    auto* dry = app.add_flag("--dry-run", options->dry_run,
                             "print configuration, plan and rule check; train and write nothing");
    app.add_option("--json", options->json,
                   "write the result of the run or set as JSON to this file, however it ends; '-' "
                   "for standard output and nothing else there. With --dry-run: the plan");
    declare_trace(app, *options, dry);
    return [options, parts, resume](Communicator* world) {
      options->resumes = resume->count() > 0;
      return run(*options, *parts, *world);
    };
  };
  return command;
}

}  // namespace

std::vector<base::Command> run_commands(const std::shared_ptr<const CommandParts>& parts) {
  return {run_command(parts)};
}

}  // namespace runner
