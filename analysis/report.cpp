// Reads logs and what lies beside them into a Report.
// Hides the grouping into sets.
#include "analysis/report.h"

#include <map>
#include <variant>

#include "analysis/audit.h"
#include "analysis/find_logs.h"
#include "analysis/telemetry_file.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"

namespace analysis {
namespace {

void add_findings(std::vector<Finding>& to, std::vector<Finding> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

RunReport read_run(const FoundLog& found, std::istream* standard_input) {
  const bool is_file = found.path != kStandardInput;
  if (!is_file && !standard_input) throw base::SystemError("standard input: cannot be read here");
  RunReport run;
  run.name = found.name;
  run.folder = found.folder;
  run.path = found.path;
  ParsedLog log = is_file ? parse_log(found.path) : parse_log(*standard_input);
  run.facts = facts_of(log);
  run.findings = std::move(log.findings);
  add_findings(run.findings, audit(log, run.facts));
  run.log_parts = log_breakdown(run.facts);
  if (is_file) run.telemetry = read_telemetry_beside(found.path, run.findings);
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
      read[i] = read_run(log, options.standard_input);
    } catch (const base::Error& error) {
      read[i] = Problem{log.path.string(), error.what()};
    }
  });
  Sets sets;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (auto* run = std::get_if<RunReport>(&read[i])) {
      report.runs.push_back(std::move(*run));
      if (found.logs[i].path != kStandardInput) {
        sets[found.logs[i].folder].push_back(report.runs.size() - 1);
      }
    } else {
      report.problems.push_back(std::move(std::get<Problem>(read[i])));
    }
  }
  add_systems(report, sets);
  return report;
}

}  // namespace analysis
