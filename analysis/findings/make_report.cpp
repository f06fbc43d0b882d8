// Reads logs and the files next to them into a Report.
#include "analysis/findings/make_report.h"

#include <utility>
#include <variant>

#include "analysis/audit/audit.h"
#include "analysis/audit/telemetry.h"
#include "analysis/facts_of_log.h"
#include "analysis/find_logs.h"
#include "analysis/findings/checked_file.h"
#include "analysis/findings/log_rounds.h"
#include "analysis/findings/sets.h"
#include "analysis/log_file.h"
#include "analysis/telemetry_file.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"
#include "runner/mllog/rules/rule_book.h"

namespace analysis {
namespace {

void add_findings(std::vector<Finding>& to, std::vector<Finding> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

using mllog::rules::Choice;

/// Reads a log and the files next to it.
class Reader {
 public:
  explicit Reader(const ReadOptions& options)
      : options_(options),
        checker_(mllog::rules::embedded_rule_book(), mllog::rules::Warnings::kAllowed,
                 Gathered::kNothing) {}

  /// `choice` is absent for standard input and unreadable logs.
  RunReport read(const FoundLog& found, const std::optional<Choice>& choice) {
    RunReport run;
    run.name = found.name;
    run.folder = found.folder;
    run.path = found.path;
    read_log(found, choice, run);
    run.log_parts = log_breakdown(run.facts);
    if (found.path == kStandardInput) return run;
    run.telemetry = read_telemetry_of(found.path, run.findings);
    if (options_.traces) run.trace = read_trace_of(found.path, run.findings);
    if (run.telemetry) add_findings(run.findings, audit(*run.telemetry, run.facts));
    return run;
  }

 private:
  void read_log(const FoundLog& found, const std::optional<Choice>& choice, RunReport& run) {
    if (found.path == kStandardInput) {
      if (!options_.standard_input) throw base::SystemError("standard input: cannot be read here");
      take(parse_log(*options_.standard_input), choice, run);
    } else if (options_.scores && choice) {
      base::InputFile in = open_log(found.path);
      CheckedFile checked = checker_.check(found, in, *choice);
      run.facts = std::move(*checked.facts);
      run.findings = std::move(checked.audit);
      run.breaks_rules = checked.verdict == Verdict::kFail;
    } else {
      take(parse_log(found.path), choice, run);
    }
  }

  /// Takes facts and findings of a log without judging it.
  static void take(ParsedLog log, std::optional<Choice> choice, RunReport& run) {
    if (!choice) {
      choice =
          mllog::rules::choose_by_log(mllog::rules::embedded_rule_book(), {}, evidence_of(log));
    }
    run.facts = facts_of(log, choice->round->number);
    run.findings = std::move(log.findings);
    add_findings(run.findings, audit(log, run.facts));
  }

  const ReadOptions& options_;
  LogChecker checker_;
};

/// Computes the energy of the runs of one folder. Its mean is over the runs of the score, or
/// without a score over those of the olympic mean.
void measure_energy(SystemReport& system, const std::vector<RunReport>& runs) {
  std::vector<submission::TimedRun> timed;
  for (const RunReport& run : runs) {
    if (run.folder != system.name || run.path == kStandardInput) continue;
    timed.push_back({run.path.filename().string(), run.facts.ttt_s});
  }
  const SystemFacts& facts = system.facts;
  system.energy = submission::energy_of(
      system.path, timed, facts.score_files.empty() ? facts.olympic_files : facts.score_files,
      facts.scaling_factor.value_or(1.0));
}

}  // namespace

Report make_report(const std::vector<std::string>& paths, const ReadOptions& options) {
  Report report;
  const FoundLogs found = find_logs(paths);
  for (const UnusablePath& path : found.problems) {
    report.problems.push_back({path.path, path.reason, path.missing});
  }
  // Results are stored by index, so that their order does not depend on the threads.
  Reader reader(options);
  const std::vector<std::optional<Choice>> choices =
      choose_rounds(found.logs, mllog::rules::embedded_rule_book(), {}, options.threads);
  std::vector<std::variant<RunReport, Problem>> read(found.logs.size());
  base::for_each_index(read.size(), options.threads, [&](std::size_t i) {
    const FoundLog& log = found.logs[i];
    try {
      read[i] = reader.read(log, choices[i]);
    } catch (const base::Error& error) {
      read[i] = Problem{log.path.string(), error.what()};
    }
  });
  for (auto& one : read) {
    if (auto* run = std::get_if<RunReport>(&one)) {
      report.runs.push_back(std::move(*run));
    } else {
      report.problems.push_back(std::move(std::get<Problem>(one)));
    }
  }
  std::vector<PlacedRun> placed;
  for (const RunReport& run : report.runs) {
    if (run.path == kStandardInput) continue;
    placed.push_back({&run.folder, &run.path, &run.facts, run.breaks_rules,
                      run.telemetry ? &*run.telemetry : nullptr});
  }
  report.systems = systems_of(placed);
  base::for_each_index(report.systems.size(), options.threads,
                       [&](std::size_t i) { measure_energy(report.systems[i], report.runs); });
  return report;
}

}  // namespace analysis
