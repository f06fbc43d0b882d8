// Energy as JSON, for the documents of `analyze` and `check`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analysis/submission/energy.h"

namespace analysis::report {

/// {energy_j, mean_energy_j, scaling_factor, runs: file -> {figures, logs: file -> {figures}}};
/// absent figures are null.
nlohmann::ordered_json energy_json(const submission::SetEnergy& energy);

/// Name such as "energy.runs.power_w" -> {definition, unit}.
nlohmann::ordered_json energy_definitions_json();

}  // namespace analysis::report
