// script: writes the job script of a configuration.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "runner/base/replaced_file.h"
#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/launch/script.h"
#include "runner/launch/submit.h"

namespace runner {
namespace {

using base::ExitCode;
using launch::JobRequest;
using launch::Scheduler;
using launch::Starter;

struct ScriptOptions {
  std::shared_ptr<ConfigSource> source;
  JobRequest request;
  std::string time = "01:00:00";
  bool together = false, shared = false, missed_is_success = false;
  std::string output;
  bool submit = false, check = false;
};

/// Parses "90" (minutes) or "HH:MM:SS".
std::int64_t parse_time_s(const std::string& text) {
  std::vector<std::int64_t> fields;
  std::string digits;
  bool is_time = !text.empty();
  for (const char c : text + ':') {
    if (c == ':') {
      is_time = is_time && !digits.empty() && digits.size() <= 5;
      if (!is_time) break;
      fields.push_back(std::stoll(digits));
      digits.clear();
    } else {
      is_time = is_time && c >= '0' && c <= '9';
      digits += c;
    }
  }
  is_time =
      is_time && (fields.size() == 1 || (fields.size() == 3 && fields[1] < 60 && fields[2] < 60));
  if (is_time) {
    const std::int64_t seconds =
        fields.size() == 1 ? fields[0] * 60 : fields[0] * 3600 + fields[1] * 60 + fields[2];
    if (seconds > 0) return seconds;
  }
  throw base::ConfigError("script: --time: expected minutes or HH:MM:SS, got '" + text + "'");
}

/// Decides whether the job stages samples to its scratch folder or as configured.
void choose_scratch(const RunConfig& config, bool scratch_is_given, JobRequest& request) {
  const nlohmann::json resolved = config.reader.resolved();
  const auto staging = resolved.find("staging");
  const bool stages = staging != resolved.end() && staging->value("mode", "") != "stream";
  if (scratch_is_given && !stages) {
    throw base::ConfigError("script: --scratch: this configuration stages nothing");
  }
  const bool has_own = stages && config.reader.object("staging", "").has("directory");
  request.staging = stages && (scratch_is_given || !has_own) ? launch::Staging::kToScratch
                                                             : launch::Staging::kAsConfigured;
}

/// Throws ConfigError if the configuration cannot be trained on these ranks.
void require_trainable(const ScriptOptions& options) {
  const JobRequest& request = options.request;
  const std::int64_t ranks = request.nodes * request.ranks_per_node;
  if (ranks > std::numeric_limits<int>::max()) {
    throw base::ConfigError(fmt::format(
        "script: --nodes {} with --ranks-per-node {}: expected at most {} ranks, got {}",
        request.nodes, request.ranks_per_node, std::numeric_limits<int>::max(), ranks));
  }
  PlannedRank place;
  place.node_ranks = static_cast<int>(request.ranks_per_node);
  place.ranks = static_cast<int>(ranks);
  place.threads = static_cast<int>(request.cpus_per_rank);
  try {
    (void)options.source->entry->memory_needs(*options.source->config, place);
  } catch (const base::LibraryError&) {
    // About this machine; the job runs on others.
  } catch (const base::ConfigError& e) {
    throw base::ConfigError(fmt::format("{}, on {} nodes with {} ranks each", e.what(),
                                        request.nodes, request.ranks_per_node));
  }
}

void choose_threads(const RunConfig& config, bool cpus_are_given, JobRequest& request) {
  if (!cpus_are_given && config.threads == 0) {
    throw base::ConfigError("script: --cpus-per-rank: required, as " +
                            config.reader.where("threads") + " does not say how many");
  }
  if (!cpus_are_given) request.cpus_per_rank = config.threads;
  if (config.threads > request.cpus_per_rank) {
    throw base::ConfigError(
        fmt::format("script: --cpus-per-rank: expected at least the {} of {}, "
                    "got {}",
                    config.threads, config.reader.where("threads"), request.cpus_per_rank));
  }
}

/// Combines the configuration and the options.
JobRequest complete_request(ScriptOptions& options, const CLI::App& app) {
  const RunConfig& config = *options.source->config;
  JobRequest& request = options.request;
  request.config = options.source->path;
  request.overrides = options.source->overrides;
  request.workload = config.workload;
  if (request.name.empty()) request.name = sanitized(config.workload);
  if (request.results.empty()) {
    request.results = config.results_directory;
  } else {
    request.overrides.push_back("results.directory=" + request.results);
  }
  request.time_s = parse_time_s(options.time);
  if (options.together && request.runs < 2) {
    throw base::ConfigError("script: --together: only for a set (--runs 2 or more)");
  }
  request.set_mode = options.together ? launch::SetMode::kTogether : launch::SetMode::kArray;
  request.sharing = options.shared ? launch::Sharing::kShared : launch::Sharing::kExclusive;
  request.missed = options.missed_is_success ? launch::Missed::kSuccess : launch::Missed::kFailure;
  if (config.checkpoint.is_scheduled() && app.count("--checkpoint-minutes") == 0) {
    request.checkpoint_minutes = 0;  // the configuration's own schedule applies
  }
  if (config.cpus.ranks_per_node > 0 && app.count("--ranks-per-node") == 0) {
    request.ranks_per_node = config.cpus.ranks_per_node;
  }
  request.spares_cpus = config.cpus.spare_cores > 0 || !config.cpus.all_hardware_threads;
  choose_threads(config, app.count("--cpus-per-rank") > 0, request);
  choose_scratch(config, app.count("--scratch") > 0, request);
  require_trainable(options);
  return request;
}

ExitCode write_script(ScriptOptions& options, const CLI::App& app) {
  const JobRequest request = complete_request(options, app);
  const std::string script = launch::job_script(request);
  if (!options.output.empty()) {
    base::write_file(options.output, script);
    if (std::filesystem::is_regular_file(options.output)) {
      std::filesystem::permissions(options.output,
                                   std::filesystem::perms::owner_exec |
                                       std::filesystem::perms::group_exec |
                                       std::filesystem::perms::others_exec,
                                   std::filesystem::perm_options::add);
    }
  }
  if (options.check) launch::hand_over({"sbatch", "--test-only"}, script);
  if (options.submit) {
    for (const auto& command : launch::submit_commands(request)) launch::hand_over(command, script);
  }
  if (options.output.empty() && !options.check && !options.submit) {
    std::cout << script << std::flush;
  }
  return ExitCode::kSuccess;
}

template <class E>
CLI::Option* add_choice(CLI::App& app, const std::string& name, E& value,
                        const std::vector<std::pair<std::string, E>>& choices,
                        const std::string& help) {
  std::string names;
  for (const auto& [word, meaning] : choices) names += (names.empty() ? "" : "|") + word;
  return app
      .add_option_function<std::string>(
          name,
          [&value, choices, name](const std::string& text) {
            for (const auto& [word, meaning] : choices) {
              if (word == text) {
                value = meaning;
                return;
              }
            }
            std::string known;
            for (const auto& choice : choices) known += (known.empty() ? "" : ", ") + choice.first;
            throw base::ConfigError("script: " + name + ": expected one of " + known + ", got '" +
                                    text + "'");
          },
          help)
      ->type_name(names);
}

void declare_resources(CLI::App& app, ScriptOptions& options) {
  JobRequest& request = options.request;
  const auto count = CLI::Range(1, 1000000);
  app.add_option("--nodes", request.nodes, "nodes of a run")->check(count)->capture_default_str();
  app.add_option("--ranks-per-node", request.ranks_per_node,
                 "MPI ranks on each node; by default those of the configuration's cpus, else 1")
      ->check(count);
  app.add_option("--cpus-per-rank", request.cpus_per_rank,
                 "CPUs, and so threads, of a rank; needed unless the configuration sets threads")
      ->check(count);
  app.add_option("--time", options.time, "time limit: minutes, or HH:MM:SS")->capture_default_str();
  app.add_flag("--shared-nodes", options.shared,
               "other jobs may use the nodes' other CPUs; without it, nodes are this job's alone");
  app.add_option("--partition,--queue", request.queue, "partition or queue");
  app.add_option("--account", request.account, "account, project or bank to charge");
  app.add_option("--qos", request.qos, "Slurm: quality of service");
  app.add_option("--constraint", request.constraint,
                 "kind of node: a Slurm feature, a PBS chunk resource, an LSF select expression "
                 "or a Flux property");
  app.add_option("--directive", request.directives,
                 "one more option for the scheduler, such as --directive=--reservation=bench; may "
                 "be given again")
      ->allow_extra_args(false);
  app.add_option("--module", request.modules,
                 "environment module that the job loads; may be given again")
      ->allow_extra_args(false);
}

void declare_run(CLI::App& app, ScriptOptions& options) {
  JobRequest& request = options.request;
  app.add_option("--runs", request.runs,
                 "members of a run set, each a task of a job array; 1: a single run, which goes on "
                 "after a restart")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--at-once", request.at_once, "members that may run at the same time; 0: all")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_flag("--together", options.together,
               "all members run at the same time in one job (weak scaling), each on --nodes nodes");
  app.add_option("--results", request.results,
                 "folder of results, in place of the configuration's");
  app.add_option("--scratch", request.scratch,
                 "node-local folder that samples are copied to; without it, the job looks for one");
  app.add_option("--checkpoint-minutes", request.checkpoint_minutes,
                 "minutes between checkpoints of a single run: what a lost node costs at most; 0: "
                 "as the configuration says")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--signal-margin", request.signal_margin_s,
                 "seconds before the time limit in which a run ends and saves itself")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option("--restarts", request.restarts,
                 "times that the job is queued again after its time limit or a lost node; 0: never")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  add_choice<launch::Preflight>(app, "--preflight", request.preflight,
                                {{"doctor", launch::Preflight::kDoctor},
                                 {"plan", launch::Preflight::kPlan},
                                 {"none", launch::Preflight::kNone}},
                                "what is looked at before the run starts: the nodes and the plan, "
                                "the plan (run --dry-run), or nothing [doctor]");
  app.add_flag("--missed-is-success", options.missed_is_success,
               "the job succeeds also where the run misses its target (exit code 6)");
}

void declare_script(CLI::App& app, ScriptOptions& options) {
  JobRequest& request = options.request;
  app.add_option("--name", request.name, "of the job; without it, the workload's");
  app.add_option("--program", request.program,
                 "the trainmark of the nodes: a path, or found in PATH")
      ->capture_default_str();
  add_choice<Starter>(
      app, "--launcher", request.starter,
      {{"mpirun", Starter::kMpirun}, {"srun", Starter::kSrun}, {"flux", Starter::kFlux}},
      "what starts the ranks [mpirun; under Flux flux]");
  app.add_option("--output", options.output, "write the script to this file, not to the terminal");
  auto* check = app.add_flag("--check", options.check,
                             "Slurm: ask whether and when such a job would start (--test-only)");
  app.add_flag("--submit", options.submit, "submit the job; prints its number")->excludes(check);
  app.add_option("LAUNCHER_OPTIONS", request.starter_options,
                 "after --: options for the launcher, such as -- --mca btl tcp,self");
}

void check_words(const ScriptOptions& options) {
  if (!options.request.starter_options.empty() &&
      options.request.starter_options.front().rfind('-', 0) != 0) {
    throw base::ConfigError("script: expected options for the launcher after --, got '" +
                            options.request.starter_options.front() + "'");
  }
  if (options.check && options.request.scheduler != Scheduler::kSlurm) {
    throw base::ConfigError("script: --check: only Slurm can say when a job would start");
  }
}

base::Command script_command(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "script";
  command.summary = "a job script for Slurm, PBS, LSF or Flux that runs a configuration";
  command.example =
      "trainmark script slurm configs/resnet50/mlperf.json --nodes 16 --ranks-per-node 2 "
      "--cpus-per-rank 32 --time 08:00:00 --output resnet50.sbatch\n"
      "  trainmark script slurm configs/dlrm/mlperf.json --nodes 4 --cpus-per-rank 64 --runs 5 "
      "--at-once 2 --submit\n"
      "  trainmark script pbs configs/resnet50/mlperf.json --nodes 4 --cpus-per-rank 64 --queue "
      "normal -- --mca btl tcp,self";
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<ScriptOptions>();
    add_choice<Scheduler>(app, "SCHEDULER", options->request.scheduler,
                          {{"slurm", Scheduler::kSlurm},
                           {"pbs", Scheduler::kPbs},
                           {"lsf", Scheduler::kLsf},
                           {"flux", Scheduler::kFlux}},
                          "whose job script it is to be")
        ->required();
    options->source =
        declare_config(app, parts->workloads, [options = options.get()](const WorkloadEntry&) {
          require_outputs(*options->source, {{"--output", options->output}});
        });
    declare_resources(app, *options);
    declare_run(app, *options);
    declare_script(app, *options);
    return [options, &app](Communicator*) {
      if (app.count("--launcher") == 0 && options->request.scheduler == Scheduler::kFlux) {
        options->request.starter = Starter::kFlux;
      }
      check_words(*options);
      return write_script(*options, app);
    };
  };
  return command;
}

}  // namespace

std::vector<base::Command> script_commands(const std::shared_ptr<const CommandParts>& parts) {
  return {script_command(parts)};
}

}  // namespace runner
