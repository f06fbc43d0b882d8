// Verdicts as text.
// Hides its layout.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "analysis/report/write_check.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

constexpr std::size_t kShownFindings = 20;

std::string place(const std::string& name, const mllog::Finding& finding) {
  if (finding.line == 0) return name;
  return fmt::format("{}:{}:{}", name, finding.line, finding.column);
}

/// "  result_1.txt:3:1: error: what is wrong [rule]".
void write_finding(std::ostream& out, const std::string& name, const char* whose,
                   const mllog::Finding& finding) {
  out << "  "
      << base::printable(fmt::format("{}: {}{}: {} [{}]", place(name, finding), whose,
                                     to_string(finding.severity), finding.text, finding.rule))
      << '\n';
}

/// At most so many.
void write_findings(std::ostream& out, const std::string& name, const char* whose,
                    const std::vector<const mllog::Finding*>& findings) {
  const std::size_t shown = std::min(findings.size(), kShownFindings);
  for (std::size_t i = 0; i < shown; ++i) write_finding(out, name, whose, *findings[i]);
  if (findings.size() > shown) {
    out << fmt::format("  {} more, all in the JSON\n", findings.size() - shown);
  }
}

/// All but notes.
std::vector<const mllog::Finding*> told(const std::vector<Finding>& findings) {
  std::vector<const mllog::Finding*> chosen;
  for (const mllog::Finding& finding : findings) {
    if (finding.severity != mllog::Finding::Severity::kNote) chosen.push_back(&finding);
  }
  return chosen;
}

void write_file(std::ostream& out, const CheckedFile& file) {
  const mllog::rules::Judgement& judgement = file.judgement;
  out << base::printable(fmt::format("{}: {} under {} ({})", file.name,
                                     judgement.passes ? "SUCCESS" : "FAIL", judgement.ruleset,
                                     file.why_this_ruleset))
      << '\n';
  std::vector<const mllog::Finding*> of_verdict;
  for (const auto& found : judgement.findings) of_verdict.push_back(&found.finding);
  write_findings(out, file.name, "", of_verdict);
  write_findings(out, file.name, "audit ", told(file.audit));
}

std::string verdict_of(const submission::RcpResult& result) {
  if (!result.fails() && !result.passed) return "not tested";
  return result.passed ? "SUCCESS" : "FAIL";
}

/// What only the runs of a folder together show.
void write_sets(std::ostream& out, const CheckReport& report, bool quiet) {
  for (const CheckedSet& set : report.sets) {
    if (quiet && !(set.rcp && !set.rcp->passed)) continue;
    if (set.rcp) {
      out << base::printable(fmt::format("{}: convergence {}: {}", set.name, verdict_of(*set.rcp),
                                         submission::finding_of(*set.rcp).text))
          << '\n';
    } else if (!told(set.audit).empty()) {
      out << base::printable(set.name) << ":\n";
    }
    write_findings(out, set.name, "audit ", told(set.audit));
  }
}

void write_submission(std::ostream& out, const CheckedSubmission& checked) {
  const submission::PackageReport& report = checked.report;
  for (const submission::PackageSet& set : report.sets) {
    const std::string required =
        set.runs_required ? fmt::format(" of {} required", *set.runs_required) : "";
    const std::string convergence =
        set.rcp ? "; convergence " + verdict_of(*set.rcp) + ": " + set.rcp->message : "";
    out << base::printable(fmt::format("{}: {} runs{}, {} failed{}", set.name, set.runs, required,
                                       set.failing_runs.size(), convergence))
        << '\n';
  }
  std::size_t errors = 0, warnings = 0;
  for (const submission::PackageFinding& found : report.findings) {
    if (found.finding.severity == mllog::Finding::Severity::kNote) continue;
    ++(found.finding.severity == mllog::Finding::Severity::kError ? errors : warnings);
    write_finding(out, found.path, "", found.finding);
  }
  out << base::printable(fmt::format("submission: {} under {}-{} ({}): {} errors, {} warnings",
                                     report.passes() ? "SUCCESS" : "FAIL", checked.round.usage,
                                     checked.round.round, checked.why_this_round, errors, warnings))
      << '\n';
}

}  // namespace

void write_check_text(std::ostream& out, const CheckReport& report, bool quiet) {
  for (const CheckedFile& file : report.files) {
    if (!quiet || !file.judgement.passes) write_file(out, file);
  }
  if (!report.submission) write_sets(out, report, quiet);
  if (report.submission) write_submission(out, *report.submission);
  const std::size_t all = report.files.size();
  const std::size_t failed = report.failed();
  out << fmt::format("{} {} judged: {} SUCCESS, {} FAIL", all, all == 1 ? "log" : "logs",
                     all - failed, failed);
  if (!report.problems.empty())
    out << fmt::format("; {} could not be read", report.problems.size());
  out << '\n';
}

}  // namespace analysis::report
