// The description of a system as MLPerf submissions carry it (systems/*.json).
// Hides hwloc, /sys and which fact fills which field.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace runner {

/// What nobody can read from the machine.
struct SystemDescriptionOptions {
  std::string submitter;
  std::string division = "open";
  std::string status;  ///< availability, in MLPerf's words
  std::string system_name;
  int nodes = 1;
};

/// Every field that the submission checker requires, as text; "" where the fact cannot be read
/// here: nothing is invented. `machine` as base::machine_facts(), `libraries` names and versions.
/// Source: mlcommons/logging, system_desc_checker, training 4.0.
nlohmann::ordered_json describe_system(const SystemDescriptionOptions& options,
                                       const nlohmann::json& machine, const nlohmann::json& build,
                                       const nlohmann::json& libraries);

}  // namespace runner
