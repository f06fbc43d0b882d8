// One run as text.
#pragma once

#include <string>

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// One log in full: figures, convergence, breakdown, provenance.
void write_run(TextPage& page, const RunReport& run);

/// A line per straggler of one run, and one for a slow exchange. Lines begin with `name` unless it
/// is empty.
void write_waiting(TextPage& page, const std::string& name, const RunTelemetry& telemetry);

}  // namespace analysis::report
