// The report as plain text.
// Hides the order of its parts: one log in full, several by folder, then findings and definitions.
#include "analysis/write_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "analysis/text_sections.h"

namespace analysis {
namespace {

constexpr std::size_t kShownFindings = 8;

std::string place(const Finding& finding) {
  if (finding.line == 0) return "";
  return fmt::format(":{}:{}", finding.line, finding.column);
}

void write_findings(TextPage& page, const std::string& name, const std::vector<Finding>& findings) {
  const std::size_t shown = std::min(findings.size(), kShownFindings);
  for (std::size_t i = 0; i < shown; ++i) {
    page.item(name + place(findings[i]) + ": " + findings[i].text);
  }
  if (findings.size() > shown) {
    page.item(fmt::format("{}: {} more, all in the JSON", name, findings.size() - shown));
  }
}

void write_all_findings(TextPage& page, const Report& report) {
  bool any = !report.problems.empty();
  for (const RunReport& run : report.runs) any = any || !run.findings.empty();
  for (const SystemReport& system : report.systems) any = any || !system.findings.empty();
  if (!any) return;
  page.heading("Findings", {});
  for (const Problem& problem : report.problems) page.item(problem.path + ": " + problem.text);
  for (const RunReport& run : report.runs) write_findings(page, run.name, run.findings);
  for (const SystemReport& system : report.systems) {
    write_findings(page, system.name, system.findings);
  }
}

void write_sets(TextPage& page, const Report& report) {
  std::map<std::string, std::vector<const RunReport*>> folders;
  std::vector<std::string> order;  // as the runs stand in the report
  for (const RunReport& run : report.runs) {
    std::vector<const RunReport*>& runs = folders[run.folder];
    if (runs.empty()) order.push_back(run.folder);
    runs.push_back(&run);
  }
  for (const std::string& folder : order) {
    const auto system = std::find_if(report.systems.begin(), report.systems.end(),
                                     [&](const SystemReport& one) { return one.name == folder; });
    write_set(page, folder, folders[folder], system == report.systems.end() ? nullptr : &*system);
  }
}

}  // namespace

void write_text(std::ostream& out, const Report& report, std::size_t width) {
  TextPage page(out, width);
  if (report.runs.size() == 1) {
    write_run(page, report.runs.front());
  } else {
    write_sets(page, report);
  }
  write_all_findings(page, report);
  page.write_footnotes();
}

}  // namespace analysis
