// Verdicts as text.
// Hides its layout.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "analysis/printable.h"
#include "analysis/write_check.h"

namespace analysis {
namespace {

constexpr std::size_t kShownFindings = 20;

std::string place(const CheckedFile& file, const mllog::Finding& finding) {
  if (finding.line == 0) return file.name;
  return fmt::format("{}:{}:{}", file.name, finding.line, finding.column);
}

/// "  result_1.txt:3:1: error: what is wrong [rule]", for at most so many.
void write_findings(std::ostream& out, const CheckedFile& file, const char* whose,
                    const std::vector<const mllog::Finding*>& findings) {
  const std::size_t shown = std::min(findings.size(), kShownFindings);
  for (std::size_t i = 0; i < shown; ++i) {
    const mllog::Finding& finding = *findings[i];
    out << "  "
        << printable(fmt::format("{}: {}{}: {} [{}]", place(file, finding), whose,
                                 to_string(finding.severity), finding.text, finding.rule))
        << '\n';
  }
  if (findings.size() > shown) {
    out << fmt::format("  {} more, all in the JSON\n", findings.size() - shown);
  }
}

void write_file(std::ostream& out, const CheckedFile& file) {
  const mllog::rules::Judgement& judgement = file.judgement;
  out << printable(fmt::format("{}: {} under {} ({})", file.name,
                               judgement.passes ? "SUCCESS" : "FAIL", judgement.ruleset,
                               file.why_this_ruleset))
      << '\n';
  std::vector<const mllog::Finding*> of_verdict, of_audit;
  for (const auto& found : judgement.findings) of_verdict.push_back(&found.finding);
  for (const mllog::Finding& finding : file.audit) {
    if (finding.severity != mllog::Finding::Severity::kNote) of_audit.push_back(&finding);
  }
  write_findings(out, file, "", of_verdict);
  write_findings(out, file, "audit ", of_audit);
}

}  // namespace

void write_check_text(std::ostream& out, const CheckReport& report, bool quiet) {
  for (const CheckedFile& file : report.files) {
    if (!quiet || !file.judgement.passes) write_file(out, file);
  }
  const std::size_t all = report.files.size();
  const std::size_t failed = report.failed();
  out << fmt::format("{} {} judged: {} SUCCESS, {} FAIL", all, all == 1 ? "log" : "logs",
                     all - failed, failed);
  if (!report.problems.empty())
    out << fmt::format("; {} could not be read", report.problems.size());
  out << '\n';
}

}  // namespace analysis
