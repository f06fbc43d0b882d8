// The report as text.
#include "analysis/report/text/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/report/text/findings.h"
#include "analysis/report/text/joint.h"
#include "analysis/report/text/run.h"
#include "analysis/report/text/screen.h"
#include "analysis/report/text/set.h"

namespace analysis::report {
namespace {

void write_sets(TextPage& page, const Report& report) {
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
    write_set(page, folder, folders[folder], system == report.systems.end() ? nullptr : &*system);
  }
}

}  // namespace

void write_text(TextPage& page, const Report& report, Detail detail) {
  if (report.runs.size() == 1 && detail == Detail::kScreen) {
    write_screen(page, report.runs.front());
  } else if (report.runs.size() == 1) {
    write_run(page, report.runs.front());
  } else {
    write_sets(page, report);
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
