// The parts of the text report.
// Hides their layout.
#pragma once

#include <vector>

#include "analysis/report/report.h"
#include "analysis/report/text_page.h"

namespace analysis::report {

/// One log in full: figures, convergence, breakdown, provenance.
void write_run(TextPage& page, const RunReport& run);

/// Who was waited for in one run, each a line; nothing where nobody was. `name` stands before it.
void write_waiting(TextPage& page, const std::string& name, const RunTelemetry& telemetry);

/// The runs of one folder as a table, and what they say together. `system` may be null.
void write_set(TextPage& page, const std::string& folder, const std::vector<const RunReport*>& runs,
               const SystemReport* system);

/// Systems of the same benchmark side by side: times, epochs against batch, how runs vary, scale.
void write_joint(TextPage& page, const Report& report);

/// What was found in all logs and sets: errors first, and of each rule the first few.
void write_findings(TextPage& page, const Report& report);

}  // namespace analysis::report
