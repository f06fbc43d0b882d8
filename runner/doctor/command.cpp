// The options of doctor, and its two processes.
#include "runner/doctor/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runner/base/json_text.h"
#include "runner/base/system_facts.h"
#include "runner/doctor/cluster.h"
#include "runner/documents.h"
#include "runner/on_ranks.h"

namespace doctor {
namespace {

using base::ExitCode;
using Json = nlohmann::json;
using Launcher = LaunchFacts::Launcher;

struct Options {
  std::shared_ptr<runner::ConfigSource> source;
  runner::CommandParts parts;
  bool quick = false;
  std::int64_t ranks = 0;
  double patience_s = 60.0;
  std::string json;
  bool schema = false;
};

/// The process whose descendants form the job: the parent of ranks, else this process.
std::int64_t job_root(const LaunchFacts& launch) {
  return launch.launcher == Launcher::kNone ? ::getpid() : ::getppid();
}

void hand_out(const Report& report, const Options& options) {
  if (!options.json.empty()) {
    runner::write_document(report_document(report), options.json, std::cout);
  }
  if (options.json != "-") print_report(report, std::cout);
  std::cout << std::flush;
}

Json local_document(const Node& node) {
  Json findings = Json::array();
  for (const Finding& finding : node.judge(node.expected_place())) {
    findings.push_back(to_json(finding));
  }
  return {{"host", node.host().host}, {"findings", findings}};
}

/// In the child: examines the node, then all nodes through MPI.
int examine(const Options& options, const Request& request, const LaunchFacts& launch,
            const Environment& environment, const Reporter& reporter) {
  std::optional<Node> node;
  if (launch.local_rank == 0) {
    node.emplace(request, launch, environment,
                 [&](const std::string& what) { reporter.stage(what); });
    reporter.result(base::json_line(local_document(*node)));
  }
  reporter.stage("MPI_Init_thread");
  const auto began = std::chrono::steady_clock::now();
  int argc = 1;
  std::string name = "trainmark";
  std::array<char*, 2> arguments = {name.data(), nullptr};
  return runner::run_on_ranks(argc, arguments.data(), [&](runner::Communicator* world) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    reporter.give_back_stderr();
    const Report report =
        examine_cluster(*world, request, launch, environment, node, took.count(), reporter);
    std::int64_t code = 0;
    if (world->rank() == 0) {
      hand_out(report, options);
      code = static_cast<std::int64_t>(exit_code(report));
    }
    return static_cast<ExitCode>(world->allreduce_max(code));
  });
}

/// The first line of a library's messages that is a sentence, not a frame or trace.
std::string gist(const std::string& complaints) {
  std::istringstream lines(complaints);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (std::ranges::none_of(line, [](unsigned char c) { return std::isalpha(c) != 0; })) continue;
    if (first.empty()) first = line;
    if (line[0] != '[' && line[0] != '*') return line;
  }
  return first;
}

Finding failure_of(const Outcome& outcome, double patience_s) {
  const bool at_start = outcome.stage == "MPI_Init_thread";
  Finding finding{at_start ? "mpi.start" : "mpi.answer", Verdict::kError, "", "", "", "", {}};
  finding.measured = outcome.end == Outcome::End::kTimedOut
                         ? fmt::format("no answer within {} s in: {}", patience_s, outcome.stage)
                         : fmt::format("the process died in: {}", outcome.stage);
  const std::string why = gist(outcome.complaints);
  if (!why.empty()) finding.measured += ": " + why;
  finding.expected = at_start ? "MPI starts" : "all ranks answer";
  finding.remedy =
      at_start ? "try mpirun -n 1 hostname, then mpirun of this installation's MPI; under srun "
                 "--mpi=pmix; name the network by export OMPI_MCA_btl_tcp_if_include=NETWORK/BITS"
               : "see which node is lost (ping, sinfo -R), and whether a firewall stands between "
                 "nodes; --timeout waits longer";
  return finding;
}

/// In the parent, for a child that did not finish.
int print_failure(const Options& options, const LaunchFacts& launch, const Outcome& outcome,
                  std::optional<Finding> failure) {
  Report report;
  report.quick = options.quick;
  report.configuration = options.source->path;
  report.ranks = options.ranks > 0 ? options.ranks : launch.ranks;
  report.started_ranks = launch.ranks;
  NodeReport node{
      base::host_name(), options.ranks > 0 ? options.ranks : launch.node_ranks, 0, 0, {}};
  if (!outcome.result.empty()) {
    const Json document = Json::parse(outcome.result);
    for (const Json& finding : document.at("findings")) {
      node.findings.push_back(finding_from(finding));
    }
  }
  report.nodes.push_back(std::move(node));
  if (failure) report.between.push_back(*failure);
  if (launch.rank == 0) {
    hand_out(report, options);
  } else if (failure) {
    std::cerr << fmt::format("rank {} on {}: {}\n", launch.rank, base::host_name(),
                             base::printable(failure->measured));
  }
  return static_cast<int>(exit_code(report));
}

ExitCode run(const Options& options) {
  if (options.schema) {
    std::cout << base::json_text(report_schema(), 2) << std::flush;
    return ExitCode::kSuccess;
  }
  const Environment environment = environment_of(environ);
  const LaunchFacts launch = read_launch(environment);
  if (options.ranks > 0 && launch.ranks > 1) {
    throw base::ConfigError(
        "doctor: --ranks: plans for ranks that were not started, but a launcher "
        "started some");
  }
  Request request;
  if (!options.source->path.empty()) request.source = options.source.get();
  request.quick = options.quick;
  request.planned_node_ranks = options.ranks;
  request.job_root = job_root(launch);
  request.libraries = options.parts.libraries;
  if (options.parts.staged_copies) {
    request.staged_copies = [&options](const std::string& folder) {
      return options.parts.staged_copies(folder, runner::StagedCopies::kList);
    };
  }
  const bool can_start = launch.launcher != Launcher::kSrunAlone;
  const Outcome outcome = run_watched(
      [&](const Reporter& reporter) {
        if (can_start) return examine(options, request, launch, environment, reporter);
        const Node node(request, launch, environment,
                        [&](const std::string& what) { reporter.stage(what); });
        reporter.result(base::json_line(local_document(node)));
        return 0;
      },
      options.patience_s);
  if (outcome.end == Outcome::End::kReturned && can_start) {
    return static_cast<ExitCode>(outcome.status);
  }
  std::optional<Finding> failure;
  if (outcome.end != Outcome::End::kReturned) failure = failure_of(outcome, options.patience_s);
  return static_cast<ExitCode>(print_failure(options, launch, outcome, failure));
}

}  // namespace

base::Command command(const runner::CommandParts& parts) {
  base::Command command;
  command.name = "doctor";
  command.summary = "can this machine, or these nodes, run a configuration; what to mend";
  command.example =
      "trainmark doctor\n"
      "  trainmark doctor configs/resnet50/mlperf.json --ranks 8 --json doctor.json\n"
      "  mpirun --map-by ppr:1:node --bind-to none trainmark doctor configs/resnet50/mlperf.json";
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<Options>();
    options->parts = parts;
    options->source = runner::declare_config(
        app, options->parts.workloads,
        [options = options.get()](const runner::WorkloadEntry&) {
          runner::require_outputs(*options->source, {{"--json", options->json}});
        },
        runner::Presence::kOptional);
    app.add_flag("--quick", options->quick, "measure no rates of memory, disk and arithmetic");
    app.add_option("--ranks", options->ranks,
                   "without launcher: judge for this number of ranks on this machine")
        ->check(CLI::Range(1, 100000));
    app.add_option("--timeout", options->patience_s,
                   "seconds without a sign of life of MPI, a folder or another node after which "
                   "it is given up")
        ->check(CLI::Range(1.0, 3600.0))
        ->capture_default_str();
    app.add_option("--json", options->json,
                   "write everything that was looked at as JSON to this file; '-' for standard "
                   "output, and no text");
    app.add_flag("--schema", options->schema,
                 "print the JSON Schema of that document, and look at nothing");
    return [options](runner::Communicator*) { return run(*options); };
  };
  return command;
}

}  // namespace doctor
