// Verdicts as a JSON document.
#pragma once

#include <string>

#include "analysis/findings/check_report.h"

namespace analysis::report {

/// {"schema": 1, "files": {name: {verdict, unknown_because, ruleset, why_this_ruleset, rule_files,
/// failing_keys, findings, audit}}, "sets": {folder: {audit, rcp}}, "run_groups": null or {folders,
/// definitions}, "submission": null or {verdict, round, why_this_round, submissions, folders,
/// definitions, findings}, "suppressions": [{rule, path, reason, findings, refused}], "problems":
/// [...]}, with a line end.
std::string check_json_text(const CheckReport& report);

}  // namespace analysis::report
