// Reads logs and what lies beside them into a Report.
// Hides the grouping into sets.
#include "analysis/report.h"

#include <map>

#include "analysis/audit.h"
#include "analysis/find_logs.h"
#include "analysis/telemetry_file.h"
#include "runner/base/error.h"

namespace analysis {
namespace {

void add_findings(std::vector<Finding>& to, std::vector<Finding> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

RunReport read_run(const FoundLog& found) {
  RunReport run;
  run.name = found.name;
  run.folder = found.folder;
  run.path = found.path;
  ParsedLog log = parse_log(found.path);
  run.facts = facts_of(log);
  run.findings = std::move(log.findings);
  add_findings(run.findings, audit(log, run.facts));
  run.log_parts = log_breakdown(run.facts);
  run.telemetry = read_telemetry_beside(found.path, run.findings);
  if (run.telemetry) add_findings(run.findings, audit(*run.telemetry, run.facts));
  return run;
}

/// The runs of each folder, as indices into `report.runs`.
using Sets = std::map<std::string, std::vector<std::size_t>>;

/// The folder a log lies in, from the root on: the submission around it is looked for above.
std::filesystem::path folder_of(const std::filesystem::path& log) {
  std::error_code failed;
  const std::filesystem::path full = std::filesystem::absolute(log, failed);
  return (failed ? log : full.lexically_normal()).parent_path();
}

void add_systems(Report& report, const Sets& sets) {
  for (const auto& [name, indices] : sets) {
    std::vector<SetMember> members;
    for (const std::size_t i : indices) {
      members.push_back({report.runs[i].path.filename().string(), &report.runs[i].facts});
    }
    const std::filesystem::path folder = folder_of(report.runs[indices.front()].path);
    if (!counts_for_a_set(folder)) continue;
    SystemReport system;
    system.name = name;
    system.facts = system_facts_of(folder, members, system.findings);
    report.systems.push_back(std::move(system));
  }
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

Report make_report(const std::vector<std::string>& paths) {
  Report report;
  FoundLogs found = find_logs(paths);
  for (const UnusablePath& path : found.problems) {
    report.problems.push_back({path.path, path.reason, path.missing});
  }
  Sets sets;
  for (const FoundLog& log : found.logs) {
    try {
      report.runs.push_back(read_run(log));
      sets[log.folder].push_back(report.runs.size() - 1);
    } catch (const base::Error& error) {
      report.problems.push_back({log.path.string(), error.what()});
    }
  }
  add_systems(report, sets);
  return report;
}

}  // namespace analysis
