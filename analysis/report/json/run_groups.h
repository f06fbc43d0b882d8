// Groups of runs, their windows and the choice, as JSON.
// Hides its keys.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analysis/findings/check_report.h"

namespace analysis::report {

/// {"folders": {name: {benchmark, problem, runs_required, runs, windows, chosen_window,
/// median_windows, picked}}, "definitions"}; null where no groups were asked for.
nlohmann::ordered_json run_groups_json(const CheckReport& report);

}  // namespace analysis::report
