// One run as text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// One log in full: figures, convergence, breakdown, provenance.
void write_run(TextPage& page, const RunReport& run);

/// "Where the time went: 2 ranks, 126.7 s each".
void write_time_heading(TextPage& page, const RunTelemetry& telemetry);
/// "resnet, closed division, ORG, PLATFORM".
std::string described(const RunFacts& facts);
/// "eval_accuracy >= 0.759 (from the log)".
std::string target_text(const RunFacts& facts);
/// The unit of positions: "epoch", "passes", "samples", "tokens", "steps".
std::string position_heading(const RunFacts& facts);
/// A bar for a share of a whole; `columns` for 100 %.
std::string bar(const std::optional<double>& percent, std::size_t columns);

/// A line per straggler of one run, and one for a slow exchange. Lines begin with `name` unless it
/// is empty.
void write_waiting(TextPage& page, const std::string& name, const RunTelemetry& telemetry);

}  // namespace analysis::report
