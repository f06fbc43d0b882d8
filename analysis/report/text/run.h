// One run as text.
#pragma once

#include <string>

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// One log in full: figures, convergence, breakdown, provenance.
void write_run(TextPage& page, const RunReport& run);

/// Who was waited for in one run, each a line; nothing where nobody was. `name` stands before it.
void write_waiting(TextPage& page, const std::string& name, const RunTelemetry& telemetry);

}  // namespace analysis::report
