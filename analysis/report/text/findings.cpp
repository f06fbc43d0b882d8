// Findings of logs and sets as text.
#include "analysis/report/text/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace analysis::report {
namespace {

/// Findings shown per rule, in a report on one log and on several.
constexpr std::size_t kShownOfOne = 8;
constexpr std::size_t kShownOfSeveral = 3;

struct PlacedFinding {
  std::string where;
  const Finding* finding;
};

/// All findings: errors, then warnings, then notes; within a severity by rule.
std::vector<PlacedFinding> in_order(const Report& report) {
  std::vector<PlacedFinding> all;
  const auto add = [&](const std::string& name, const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) all.push_back({name, &finding});
  };
  for (const RunReport& run : report.runs) add(run.name, run.findings);
  for (const SystemReport& system : report.systems) add(system.name, system.findings);
  std::stable_sort(all.begin(), all.end(), [](const PlacedFinding& a, const PlacedFinding& b) {
    if (a.finding->severity != b.finding->severity) {
      return a.finding->severity > b.finding->severity;
    }
    return a.finding->rule < b.finding->rule;
  });
  return all;
}

std::string line_of(const PlacedFinding& placed) {
  const Finding& finding = *placed.finding;
  const std::string place =
      finding.line > 0 ? fmt::format(":{}:{}", finding.line, finding.column) : "";
  const std::string rule = finding.rule.empty() ? "" : fmt::format(" [{}]", finding.rule);
  return fmt::format("{}{}: {}: {}{}", placed.where, place, to_string(finding.severity),
                     finding.text, rule);
}

}  // namespace

void write_findings(TextPage& page, const Report& report) {
  const std::vector<PlacedFinding> all = in_order(report);
  if (all.empty() && report.problems.empty()) return;
  page.heading("Findings", {});
  for (const Problem& problem : report.problems) page.item(problem.path + ": " + problem.text);
  const std::size_t most = report.runs.size() == 1 ? kShownOfOne : kShownOfSeveral;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    const std::string& rule = all[begin].finding->rule;
    while (end < all.size() && all[end].finding->rule == rule) ++end;
    const std::size_t shown = std::min(end - begin, most);
    for (std::size_t i = begin; i < begin + shown; ++i) page.item(line_of(all[i]));
    if (end - begin == shown) continue;
    std::set<std::string> places;
    for (std::size_t i = begin + shown; i < end; ++i) places.insert(all[i].where);
    page.item(fmt::format("{} more [{}] in {} logs or sets, all in the JSON", end - begin - shown,
                          rule, places.size()));
  }
}

}  // namespace analysis::report
