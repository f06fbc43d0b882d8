// Groups of runs, their windows and the choice, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analysis/findings/check_report.h"

namespace analysis::report {

/// {"folders": {name: {benchmark, problem, runs_required, runs, windows, chosen_window,
/// median_windows, normalization, picked}}, "definitions"}; null if the report has no groups.
nlohmann::ordered_json run_groups_json(const CheckReport& report);

}  // namespace analysis::report
