// The report as one JSON document: {"schema", "files", "systems", "problems", "definitions"}.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analysis/findings/report.h"

namespace analysis::report {

/// Version of the document. Incremented by any change other than new members.
inline constexpr int kReportSchema = 1;

/// "files": name -> figures of run_fields() (null if absent), conflicting_keys, repeated_keys,
/// convergence, parts, telemetry, trace, provenance, findings (a list of {rule, severity, line,
/// column, text}; without line and column for a whole file; the catalogue describes the rules);
/// "systems": name -> figures of system_fields(), energy (null without power/), findings;
/// "definitions": name -> {definition, unit}.
nlohmann::ordered_json report_json(const Report& report);

/// The document as text with a line end; every string valid UTF-8.
std::string report_json_text(const Report& report);

}  // namespace analysis::report
