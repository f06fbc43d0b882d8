// The commands of the analysis half.
// Hides their options.
#include "analysis/commands.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "analysis/analyze.h"

namespace analysis {
namespace {

base::Command analyze_command() {
  base::Command command;
  command.name = "analyze";
  command.summary = "time-to-train, convergence and per-subsystem breakdown of logs";
  command.example =
      "trainmark analyze results/ --json report.json --csv report/ --html report.html";
  command.declare = [](CLI::App& app) -> base::Command::Action {
    const auto options = std::make_shared<AnalyzeOptions>();
    app.add_option("PATH", options->paths,
                   "log files, folders searched for result_*.txt at any depth, quoted patterns "
                   "such as 'results/{a,b}*', '-' for standard input")
        ->required();
    app.add_option("--json", options->json,
                   "write the report as JSON to this file; '-' for standard output and nothing "
                   "else there");
    app.add_option(
        "--csv", options->csv,
        "write runs, convergence, subsystems, waiting and systems as CSV into this folder; a "
        "name ending in .csv gets the runs alone");
    app.add_option("--html", options->html, "write the report as one HTML file");
    app.add_option("--threads", options->threads, "logs read at the same time; 0: one on each CPU")
        ->check(CLI::Range(0, 4096));
    app.add_flag("--quiet", options->quiet, "no text report, no names of written files");
    options->standard_input = &std::cin;
    return [options](runner::Communicator*) {
      return analyze(*options, std::cout, std::cerr, output_width());
    };
  };
  return command;
}

}  // namespace

std::vector<base::Command> commands() { return {analyze_command()}; }

}  // namespace analysis
