// The report as one JSON document.
// Hides its keys: {"schema", "files", "systems", "problems", "definitions"}.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analysis/findings/report.h"

namespace analysis::report {

/// Grows only by new members as long as it stays the same.
inline constexpr int kReportSchema = 1;

/// "files": name -> figures of run_fields() (null where absent), repeated_keys, conflicting_keys,
/// convergence, parts, subsystems, counters, provenance, findings (a list of {rule, severity, line,
/// column, text}; rules stand in the catalogue, line and column are left out for a whole file);
/// "systems": name -> figures of system_fields(), energy (null without power/); "definitions": name
/// -> {definition, unit}.
nlohmann::ordered_json report_json(const Report& report);

/// The document as text with a line end; every string valid UTF-8.
std::string report_json_text(const Report& report);

}  // namespace analysis::report
