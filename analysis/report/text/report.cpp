// The report as text.
#include "analysis/report/text/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/findings/round_rows.h"
#include "analysis/report/text/findings.h"
#include "analysis/report/text/joint.h"
#include "analysis/report/text/round.h"
#include "analysis/report/text/run.h"
#include "analysis/report/text/screen.h"
#include "analysis/report/text/set.h"

namespace analysis::report {
namespace {

/// Each folder with its runs. `with_systems`: also those that are systems.
void write_sets(TextPage& page, const Report& report, bool with_systems) {
  std::map<std::string, std::vector<const RunReport*>> folders;
  std::vector<std::string> order;  // of folders, by their first run in the report
  for (const RunReport& run : report.runs) {
    std::vector<const RunReport*>& runs = folders[run.folder];
    if (runs.empty()) order.push_back(run.folder);
    runs.push_back(&run);
  }
  for (const std::string& folder : order) {
    const auto system = std::find_if(report.systems.begin(), report.systems.end(),
                                     [&](const SystemReport& one) { return one.name == folder; });
    const bool is_system = system != report.systems.end();
    if (is_system && !with_systems) continue;
    write_set(page, folder, folders[folder], is_system ? &*system : nullptr);
  }
}

}  // namespace

void write_text(TextPage& page, const Report& report, Detail detail) {
  if (report.runs.size() == 1 && detail == Detail::kScreen) {
    write_screen(page, report.runs.front());
  } else if (report.runs.size() == 1) {
    write_run(page, report.runs.front());
  } else if (is_round(report) && detail == Detail::kScreen) {
    write_round(page, report);
    write_sets(page, report, false);
  } else {
    write_sets(page, report, true);
  }
  write_findings(page, report);
  page.write_definitions();
}

void write_joint_text(TextPage& page, const Report& report) {
  write_joint(page, report);
  write_findings(page, report);
  page.write_definitions();
}

}  // namespace analysis::report
