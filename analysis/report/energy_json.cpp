// Energy as JSON.
// Hides its keys.
#include "analysis/report/energy_json.h"

#include <nlohmann/json.hpp>

#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

Json figure(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json log_json(const submission::PowerLog& log) {
  if (log.source == submission::PowerSource::kSwitch) {
    return {{"power_w", figure(log.power_w)},
            {"conversion_efficiency", figure(log.conversion_efficiency)}};
  }
  return {{"power_w", figure(log.power_w)},
          {"energy_j", figure(log.energy_j)},
          {"measured_s", figure(log.measured_s)},
          {"samples", log.samples},
          {"sampling_interval_s", figure(log.sampling_interval_s)},
          {"conversion_efficiency", figure(log.conversion_efficiency)}};
}

Json run_json(const submission::RunEnergy& run) {
  Json logs = Json::object();
  for (const submission::NamedPowerLog& one : run.logs) {
    logs[base::printable(one.file)] = log_json(one.log);
  }
  return {{"energy_j", figure(run.energy_j)},
          {"power_w", figure(run.power_w)},
          {"time_to_train_s", figure(run.time_to_train_s)},
          {"counts", run.counts},
          {"logs", logs}};
}

}  // namespace

Json energy_json(const submission::SetEnergy& energy) {
  Json runs = Json::object();
  for (const submission::RunEnergy& run : energy.runs) {
    runs[base::printable(run.file)] = run_json(run);
  }
  return {{"energy_j", figure(energy.energy_j)},
          {"mean_energy_j", figure(energy.mean_energy_j)},
          {"scaling_factor", energy.scaling_factor},
          {"runs", runs}};
}

Json energy_definitions_json() {
  Json definitions = Json::object();
  for (const submission::EnergyDefinition& one : submission::energy_definitions()) {
    definitions[std::string(one.name)] = {{"definition", one.definition}, {"unit", one.unit}};
  }
  return definitions;
}

}  // namespace analysis::report
