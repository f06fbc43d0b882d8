// Reads logs and what lies beside them into a Report.
// Hides threads.
#include "analysis/report/report.h"

#include <variant>

#include "analysis/audit.h"
#include "analysis/find_logs.h"
#include "analysis/report/log_rounds.h"
#include "analysis/report/sets.h"
#include "analysis/telemetry_file.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/rules/rule_book.h"

namespace analysis::report {
namespace {

void add_findings(std::vector<Finding>& to, std::vector<Finding> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

using mllog::rules::Choice;

/// A run, and the round that its log says, where its path names none.
struct ReadRun {
  RunReport report;
  std::optional<Choice> told_by_log;
};

/// `round`: where it is known already.
ReadRun read_run(const FoundLog& found, const ReadOptions& options,
                 std::optional<std::string> round = {}) {
  const bool is_file = found.path != kStandardInput;
  if (!is_file && !options.standard_input)
    throw base::SystemError("standard input: cannot be read here");
  ReadRun read;
  RunReport& run = read.report;
  run.name = found.name;
  run.folder = found.folder;
  run.path = found.path;
  ParsedLog log = is_file ? parse_log(found.path) : parse_log(*options.standard_input);
  if (!round) {
    const std::string path = is_file ? full_path(found.path).generic_string() : "";
    const std::optional<Choice> choice =
        mllog::rules::choose_by_path(mllog::rules::embedded_rule_book(), {}, path);
    if (!choice)
      read.told_by_log =
          mllog::rules::choose_by_log(mllog::rules::embedded_rule_book(), {}, evidence_of(log));
    round = (choice ? choice : read.told_by_log)->round->number;
  }
  run.facts = facts_of(log, *round);
  run.findings = std::move(log.findings);
  add_findings(run.findings, audit(log, run.facts));
  run.log_parts = log_breakdown(run.facts);
  if (is_file) run.telemetry = read_telemetry_beside(found.path, run.findings);
  if (is_file && options.traces) run.trace = read_trace_beside(found.path, run.findings);
  if (run.telemetry) add_findings(run.findings, audit(*run.telemetry, run.facts));
  return read;
}

/// Whether the benchmark has other facts in the other round.
bool differs(const RunFacts& facts, const std::string& round) {
  const auto* const benchmark =
      mllog::find_benchmark(facts.config_text(mllog::keys::kSubmissionBenchmark));
  if (!benchmark || facts.round == round) return false;
  const auto batch = number(facts.config_value(mllog::keys::kGlobalBatchSize));
  return &benchmark->evaluation(facts.round, batch) != &benchmark->evaluation(round, batch) ||
         benchmark->cadence(facts.round) != benchmark->cadence(round);
}

using ReadOrProblem = std::variant<ReadRun, Problem>;

/// One round for the logs of one submission: those that another round changes are read again.
void agree_on_rounds(const std::vector<FoundLog>& logs, const ReadOptions& options,
                     std::vector<ReadOrProblem>& read) {
  SubmissionRounds rounds;
  const auto each = [&](const auto& call) {
    for (std::size_t i = 0; i < read.size(); ++i) {
      auto* const run = std::get_if<ReadRun>(&read[i]);
      if (!run || !run->told_by_log || logs[i].path == kStandardInput) continue;
      call(i, *run);
    }
  };
  each([&](std::size_t i, const ReadRun& run) {
    rounds.add(full_path(logs[i].path), *run.told_by_log);
  });
  std::vector<std::pair<std::size_t, std::string>> again;
  each([&](std::size_t i, ReadRun& run) {
    const Choice choice = rounds.newest(full_path(logs[i].path), *run.told_by_log);
    if (differs(run.report.facts, choice.round->number)) {
      again.emplace_back(i, choice.round->number);
    } else {
      run.report.facts.round = choice.round->number;
    }
  });
  base::for_each_index(again.size(), options.threads, [&](std::size_t i) {
    const auto& [index, round] = again[i];
    try {
      read[index] = read_run(logs[index], options, round);
    } catch (const base::Error& error) {
      read[index] = Problem{logs[index].path.string(), error.what()};
    }
  });
}

/// Of the runs of one folder, with the means that the system's score has.
void measure_energy(SystemReport& system, const std::vector<RunReport>& runs) {
  std::vector<submission::TimedRun> timed;
  for (const RunReport& run : runs) {
    if (run.folder != system.name || run.path == kStandardInput) continue;
    timed.push_back({run.path.filename().string(), run.facts.ttt_s});
  }
  system.energy = submission::energy_of(system.path, timed, system.facts.olympic_files,
                                        system.facts.scaling_factor.value_or(1.0));
}

}  // namespace

const Breakdown* RunReport::best_breakdown() const {
  if (telemetry) return &telemetry->subsystems;
  return log_parts ? &*log_parts : nullptr;
}

std::size_t Report::readable() const {
  std::size_t count = 0;
  for (const RunReport& run : runs) count += run.facts.records > 0 ? 1 : 0;
  return count;
}

Report make_report(const std::vector<std::string>& paths, const ReadOptions& options) {
  Report report;
  const FoundLogs found = find_logs(paths);
  for (const UnusablePath& path : found.problems) {
    report.problems.push_back({path.path, path.reason, path.missing});
  }
  // Each in its place, so that the report does not depend on who was first.
  std::vector<ReadOrProblem> read(found.logs.size());
  base::for_each_index(read.size(), options.threads, [&](std::size_t i) {
    const FoundLog& log = found.logs[i];
    try {
      read[i] = read_run(log, options);
    } catch (const base::Error& error) {
      read[i] = Problem{log.path.string(), error.what()};
    }
  });
  agree_on_rounds(found.logs, options, read);
  for (auto& one : read) {
    if (auto* run = std::get_if<ReadRun>(&one)) {
      report.runs.push_back(std::move(run->report));
    } else {
      report.problems.push_back(std::move(std::get<Problem>(one)));
    }
  }
  std::vector<PlacedRun> placed;
  for (const RunReport& run : report.runs) {
    if (run.path != kStandardInput) placed.push_back({&run.folder, &run.path, &run.facts});
  }
  report.systems = systems_of(placed);
  base::for_each_index(report.systems.size(), options.threads, [&](std::size_t i) {
    measure_energy(report.systems[i], report.runs);
  });
  return report;
}

}  // namespace analysis::report
