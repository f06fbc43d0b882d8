// The commands that analyse logs, and their options.
#include "analysis/command/commands.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "analysis/command/analyze.h"
#include "analysis/command/check.h"
#include "analysis/command/compare.h"
#include "analysis/command/history.h"
#include "analysis/command/package.h"
#include "analysis/command/status.h"

namespace analysis::command {
namespace {

void add_json_option(CLI::App& app, std::string& file, const std::string& what) {
  app.add_option(
      "--json", file,
      "write " + what + " as JSON to this file; '-' for standard output and nothing else there");
}

void add_threads_option(CLI::App& app, int& threads, const std::string& done) {
  app.add_option("--threads", threads, "logs " + done + " at the same time; 0: one on each CPU")
      ->check(CLI::Range(0, 4096));
}

/// The PATH arguments of `analyze` and `check`; '-' is standard input.
void add_log_paths(CLI::App& app, std::vector<std::string>& paths) {
  app.add_option("PATH", paths,
                 "log files, folders searched for result_*.txt at any depth, quoted patterns "
                 "such as 'results/{a,b}*', '-' for standard input");
}

/// CLI11 validator of seeds and counts: an error message, or "". CLI11 itself accepts a sign and
/// wraps around.
std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end) return "";
  return "must be a whole number from 0 to 2^64 - 1, got " + text;
}

base::Command analyze_command() {
  base::Command command;
  command.name = "analyze";
  command.summary = "time-to-train, convergence and per-subsystem breakdown of logs";
  command.example =
      "trainmark analyze results/ --json report.json --csv report/ --html report.html";
  command.declare = [](CLI::App& app) -> base::Command::Action {
    const auto options = std::make_shared<AnalyzeOptions>();
    add_log_paths(app, options->paths);
    add_json_option(app, options->json, "the report");
    app.add_option("--csv", options->csv,
                   "write runs, convergence, subsystems, ranks, steps, layers, waiting and systems "
                   "as CSV into this folder; a name ending in .csv gets the runs alone");
    app.add_flag("--schema", options->schema, "print the JSON Schema of the JSON report");
    app.add_option("--html", options->html, "write the report as one HTML file");
    app.add_option("--markdown", options->markdown,
                   "write what the text says to this file, as Markdown");
    add_threads_option(app, options->threads, "read");
    app.add_flag("--full", options->full,
                 "all figures of a single log, and every run of several systems");
    app.add_flag("--definitions", options->definitions, "end the text with what its figures mean");
    app.add_flag("--joint", options->joint,
                 "in place of every run: the systems of each benchmark side by side, with staging, "
                 "convergence, throughput, variation and scale");
    app.add_flag("--quiet", options->quiet, "no text report, no names of written files");
    options->standard_input = &std::cin;
    return [options](runner::Communicator*) {
      return analyze(*options, std::cout, std::cerr, output_width());
    };
  };
  return command;
}

void add_judging_options(CLI::App& app, CheckOptions& options) {
  add_log_paths(app, options.paths);
  app.add_option("--usage", options.usage,
                 "training or hpc; taken from path and benchmark if absent");
  app.add_option("--round", options.round,
                 "the round whose rules apply, such as hpc-3.0 or training-4.0; taken from path, "
                 "benchmark and date if absent");
  app.add_option("--overlay", options.overlays,
                 "a file or folder of rules that add to the program's own or replace them")
      ->allow_extra_args(false);
  app.add_flag("--werror", options.werror,
               "a warning of the round's rules fails a log; the audit's never do");
}

void add_submission_options(CLI::App& app, CheckOptions& options) {
  app.add_flag(
      "--submission", options.submission,
      "PATH is a submission or holds some: check its layout, counts, seeds, system "
      "descriptions, convergence and energy too; one failing run of a folder (of unet3d four) "
      "is forgiven");
  app.add_option("--runs", options.runs,
                 "PATH holds groups of this many runs (M), one folder each: name the N consecutive "
                 "runs, by launch, that make a result, and warn of folders with a different "
                 "selection of these runs")
      ->check(whole_number);
  app.add_flag("--rcp", options.rcp,
               "test each folder's runs against reference convergence points");
  app.add_option("--rcp-era", options.rcp_era,
                 "edition of the test's statistics: head, 2024a, 2022 or 1.0");
  app.add_option("--rcp-points", options.rcp_points,
                 "pruned (as the rules have it) or all reference points")
      ->check(CLI::IsMember({"pruned", "all"}));
  app.add_option("--custom-rcps", options.custom_rcps,
                 "a JSON file of reference points in MLCommons' format instead of the program's");
  app.add_option(
      "--plot", options.plot,
      "plot the reference points of --rcps, or with --rcp or --submission each tested set "
      "with its benchmark's points, to this SVG file; '-' plots characters on standard "
      "output");
  app.add_flag("--rcp-bypass", options.rcp_bypass, "a failed or missing test passes all the same");
  app.add_flag("--seed-checker-bypass", options.seed_checker_bypass,
               "faults of seeds are warnings");
  app.add_flag("--write-scaling", options.write_scaling,
               "write scaling.json into folders that have none and whose RCP test gives a factor; "
               "without it nothing is ever written into a submission");
}

void add_output_options(CLI::App& app, CheckOptions& options) {
  add_json_option(app, options.json, "verdicts and findings");
  app.add_option("--sarif", options.sarif, "write all findings as SARIF 2.1.0 to this file");
  app.add_option("--junit", options.junit, "write the verdicts as JUnit XML to this file");
  app.add_flag("--quiet", options.quiet, "report only the number of logs that pass");
  app.add_flag("--fix-hints", options.fix_hints,
               "with the first finding of each rule, what to do about it");
  app.add_option("--suppress", options.suppress,
                 "a JSON file of findings not to report, each with its reason: audit findings and "
                 "warnings of --submission; a verdict never depends on it");
  app.add_option("--rules", options.rules,
                 "list the rules for this benchmark, of its newest round or that of --round");
  app.add_flag("--rounds", options.rounds, "list the rounds and their benchmarks");
  app.add_option("--rcps", options.rcps,
                 "list and draw the reference convergence points for this benchmark, of its newest "
                 "round or that of --round");
  app.add_option("--bootstrap", options.bootstrap,
                 "with --rcps: draw 10000 sets from the reference's runs at this batch size and "
                 "show how often they pass, and how their means spread");
  app.add_option("--seed", options.seed, "seed of the --bootstrap draws; 0 if absent")
      ->check(whole_number);
  app.add_option("--explain", options.explain,
                 "what the rule of a finding means and where it comes from; 'all' lists them");
  add_threads_option(app, options.threads, "judged");
}

base::Command check_command() {
  base::Command command;
  command.name = "check";
  command.summary = "whether logs and submissions are valid under the rules of their round";
  command.example = "trainmark check results/ --round hpc-3.0 --json verdicts.json";
  command.declare = [](CLI::App& app) -> base::Command::Action {
    const auto options = std::make_shared<CheckOptions>();
    add_judging_options(app, *options);
    add_submission_options(app, *options);
    add_output_options(app, *options);
    options->standard_input = &std::cin;
    return [options](runner::Communicator*) {
      return check(*options, std::cout, std::cerr, output_width());
    };
  };
  return command;
}

base::Command compare_command() {
  base::Command command;
  command.name = "compare";
  command.summary =
      "runs, systems, submissions or bench results side by side: where the time "
      "differs, and whether the difference is real";
  command.example = "trainmark compare results/old/resnet50 results/new/resnet50";
  command.declare = [](CLI::App& app) -> base::Command::Action {
    const auto options = std::make_shared<CompareOptions>();
    app.add_option("PATH", options->paths,
                   "a log, a folder of logs at any depth, or what bench --json wrote; the others "
                   "are compared with the first");
    app.add_option_function<std::string>(
           "--baseline",
           [options](const std::string& per) {
             options->per = per == to_string(comparison::Per::kNode) ? comparison::Per::kNode
                                                                     : comparison::Per::kUnit;
           },
           "multiply times by the nodes, or by the compute units, of each side: node or unit")
        ->check(
            CLI::IsMember({to_string(comparison::Per::kNode), to_string(comparison::Per::kUnit)}));
    app.add_option("--seed", options->seed, "seed of the bootstrap and permutation draws")
        ->check(whole_number)
        ->capture_default_str();
    add_json_option(app, options->json, "the comparison");
    app.add_flag("--schema", options->schema, "print the JSON Schema of that JSON");
    app.add_option("--csv", options->csv,
                   "write a row for each figure of each comparison of logs to this file");
    app.add_option("--markdown", options->markdown,
                   "write what the text says of logs to this file, as Markdown");
    app.add_flag("--definitions", options->definitions,
                 "end the text of a comparison of logs with what its figures mean");
    add_threads_option(app, options->threads, "read");
    return [options](runner::Communicator*) {
      return compare(*options, std::cout, std::cerr, output_width());
    };
  };
  return command;
}

base::Command status_command() {
  base::Command command;
  command.name = "status";
  command.summary = "runs in progress: epoch, quality, speed, where the time went, and the end";
  command.example =
      "trainmark status results --follow\n"
      "  trainmark status results --openmetrics trainmark.prom";
  command.declare = [](CLI::App& app) -> base::Command::Action {
    const auto options = std::make_shared<StatusOptions>();
    app.add_option("DIR", options->paths,
                   "folders of results, or logs; all runs in them that "
                   "have not ended, else the last one")
        ->required();
    app.add_flag("--follow", options->follow, "refresh until no run is in progress");
    app.add_option("--interval", options->interval_s, "seconds between two refreshes")
        ->check(CLI::Range(0.1, 86400.0))
        ->capture_default_str();
    add_json_option(app, options->json, "what is seen");
    app.add_option("--openmetrics", options->openmetrics,
                   "write the figures to this file as metrics, for Prometheus' textfile collector "
                   "(FILE.prom) or for OpenMetrics; with --follow again at each refresh");
    return [options](runner::Communicator*) {
      const base::SystemClock clock;
      const auto sleep = [](double seconds) {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      };
      return status(*options, {clock, sleep, isatty(STDOUT_FILENO) != 0}, std::cout, std::cerr,
                    output_width());
    };
  };
  return command;
}

void add_search_options(CLI::App& app, HistoryOptions& options) {
  app.add_option("--workload", options.workload, "only runs of this benchmark, as logs name it");
  app.add_option("--system", options.system, "only runs on this system");
  app.add_option("--outcome", options.outcome, "only runs that ended so: success, aborted, ...");
  app.add_option("--revision", options.revision,
                 "only runs of the program at this revision, or its beginning");
  app.add_option(
      "--with", options.settings,
      "only runs with this setting, such as training.global_batch_size=512; several must "
      "all hold");
  app.add_option("--since", options.since, "only runs that started on this day (UTC) or later");
  app.add_option("--find", options.text, "only logs with this in their names");
}

base::Command history_command() {
  base::Command command;
  command.name = "history";
  command.summary = "past results: list, search, what changed, and whether newer ones are slower";
  command.example = "trainmark history results --workload resnet --changes";
  command.declare = [](CLI::App& app) -> base::Command::Action {
    const auto options = std::make_shared<HistoryOptions>();
    app.add_option("FOLDER", options->folder, "folder of results")->capture_default_str();
    add_search_options(app, *options);
    app.add_option("--limit", options->limit, "newest runs that the text shows; 0: all")
        ->check(whole_number)
        ->capture_default_str();
    app.add_flag("--changes", options->changes,
                 "show which settings differ from the previous run of the workload on the system");
    app.add_flag("--regressions", options->regressions,
                 "compare the newest revision's runs of each kind with the last good ones; exit "
                 "code 9 if they fail or are slower");
    app.add_option("--seed", options->seed, "seed of the permutation draws")
        ->check(whole_number)
        ->capture_default_str();
    app.add_option("--index", options->index,
                   "index file, made or brought up to date; default: in the folder");
    app.add_flag("--rebuild", options->rebuild, "read all logs again");
    add_json_option(app, options->json, "what is found");
    add_threads_option(app, options->threads, "read");
    return [options](runner::Communicator*) {
      return history(*options, std::cout, std::cerr, output_width());
    };
  };
  return command;
}

base::Command package_command() {
  base::Command command;
  command.name = "package";
  command.summary = "the submission tree of a round from run sets, checked before it appears";
  command.example =
      "trainmark package hpc-3.0 --division closed --org 'My centre' --system systems/mine.json "
      "\\\n"
      "      results/mine/cosmoflow --output submission/";
  command.declare = [](CLI::App& app) -> base::Command::Action {
    const auto options = std::make_shared<PackageCommandOptions>();
    app.add_option("ROUND", options->round, "the round, such as hpc-3.0 or training-4.0")
        ->required();
    app.add_option("RESULTS", options->results,
                   "folders with the runs of a benchmark, or consecutive logs of one")
        ->required();
    app.add_option("--division", options->division, "MLPerf division, as logs and description say")
        ->required()
        ->check(CLI::IsMember({"open", "closed"}));
    app.add_option("--org", options->org, "who submits, as logs and description say")->required();
    app.add_option("--system", options->system,
                   "the description, as trainmark system writes it; its name without .json is that "
                   "of the system in the package")
        ->required();
    app.add_option("--output", options->output, "folder in which the submitter's folder appears")
        ->capture_default_str();
    app.add_flag("--weak", options->weak,
                 "the runs trained at the same time, for throughput (HPC); what run --together "
                 "made is known as such");
    app.add_option("--runs", options->runs,
                   "the folders hold groups of this many runs (M): take the N consecutive ones, by "
                   "launch, whose score is the median, as check --runs names them")
        ->check(whole_number);
    app.add_flag("--add", options->add,
                 "add another benchmark or system to the existing folder of the submitter");
    app.add_flag("--dry-run", options->dry_run, "check and report everything, but write nothing");
    add_json_option(app, options->json, "files, refusals and the check's verdicts");
    add_threads_option(app, options->threads, "judged");
    return [options](runner::Communicator*) { return package(*options, std::cout, std::cerr); };
  };
  return command;
}

}  // namespace

std::vector<base::Command> commands() {
  return {analyze_command(), check_command(),  compare_command(),
          history_command(), status_command(), package_command()};
}

}  // namespace analysis::command
