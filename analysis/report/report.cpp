// Reads logs and what lies beside them into a Report.
// Hides threads.
#include "analysis/report/report.h"

#include <variant>

#include "analysis/audit.h"
#include "analysis/find_logs.h"
#include "analysis/report/sets.h"
#include "analysis/telemetry_file.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"

namespace analysis::report {
namespace {

void add_findings(std::vector<Finding>& to, std::vector<Finding> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

RunReport read_run(const FoundLog& found, const ReadOptions& options) {
  const bool is_file = found.path != kStandardInput;
  if (!is_file && !options.standard_input)
    throw base::SystemError("standard input: cannot be read here");
  RunReport run;
  run.name = found.name;
  run.folder = found.folder;
  run.path = found.path;
  ParsedLog log = is_file ? parse_log(found.path) : parse_log(*options.standard_input);
  run.facts = facts_of(log);
  run.findings = std::move(log.findings);
  add_findings(run.findings, audit(log, run.facts));
  run.log_parts = log_breakdown(run.facts);
  if (is_file) run.telemetry = read_telemetry_beside(found.path, run.findings);
  if (is_file && options.traces) run.trace = read_trace_beside(found.path, run.findings);
  if (run.telemetry) add_findings(run.findings, audit(*run.telemetry, run.facts));
  return run;
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
  std::vector<std::variant<RunReport, Problem>> read(found.logs.size());
  base::for_each_index(read.size(), options.threads, [&](std::size_t i) {
    const FoundLog& log = found.logs[i];
    try {
      read[i] = read_run(log, options);
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
    if (run.path != kStandardInput) placed.push_back({&run.folder, &run.path, &run.facts});
  }
  report.systems = systems_of(placed);
  for (SystemReport& system : report.systems) measure_energy(system, report.runs);
  return report;
}

}  // namespace analysis::report
