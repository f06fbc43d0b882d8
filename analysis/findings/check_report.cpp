// Counts over the verdicts on logs.
#include "analysis/findings/check_report.h"

#include <algorithm>
#include <map>

#include "analysis/find_logs.h"

namespace analysis {

std::string shown_name(const CheckedSet& set) {
  if (set.name != ".") return set.name;
  return set.path == "." ? folder_name(set.path) : set.path.generic_string();
}

std::size_t CheckReport::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      files, [&](const CheckedFile& file) { return file.verdict == verdict; }));
}

std::vector<SubmissionTotals> totals_of(const CheckedSubmission& checked) {
  std::vector<SubmissionTotals> all;
  for (const std::string& name : checked.submissions) {
    SubmissionTotals one{name, 0, 0};
    for (const submission::PackageFinding& found : checked.report.findings) {
      if (name != "." && found.path != name && !found.path.starts_with(name + "/")) continue;
      if (!found.finding.suppressed_because.empty()) continue;
      if (found.finding.severity == Finding::Severity::kError) ++one.errors;
      if (found.finding.severity == Finding::Severity::kWarning) ++one.warnings;
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace analysis
