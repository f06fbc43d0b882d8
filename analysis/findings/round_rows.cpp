// The systems of a round, a row each.
#include "analysis/findings/round_rows.h"

#include <algorithm>

#include "analysis/fields.h"
#include "analysis/system_fields.h"

namespace analysis {
namespace {

RoundRow row_of(const SystemReport& system) {
  const std::string label = label_of(system);
  const std::size_t end = label.find('/');
  RoundRow row{&system, system.facts.description.submitter, label, {}};
  if (end != std::string::npos) {
    if (row.submitter.empty()) row.submitter = label.substr(0, end);
    row.name = label.substr(end + 1);
  }
  row.score_min = number(find_field(system_fields(), "score_min")->get(system.facts));
  return row;
}

}  // namespace

std::map<std::string, std::vector<RoundRow>> rows_of_round(const Report& report) {
  std::map<std::string, std::vector<RoundRow>> rows;
  for (const SystemReport& system : report.systems) {
    rows[system.facts.benchmark].push_back(row_of(system));
  }
  for (auto& [benchmark, all] : rows) {
    std::ranges::stable_sort(all, [](const RoundRow& one, const RoundRow& other) {
      if (one.score_min && other.score_min) return *one.score_min < *other.score_min;
      return one.score_min.has_value() && !other.score_min.has_value();
    });
  }
  return rows;
}

}  // namespace analysis
