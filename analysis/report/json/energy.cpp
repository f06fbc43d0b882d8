// Energy as JSON.
#include "analysis/report/json/energy.h"

#include <nlohmann/json.hpp>

#include "analysis/report/json/optional.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

Json log_json(const submission::PowerLog& log) {
  if (log.source == submission::PowerSource::kSwitch) {
    return {{"power_w", optional_json(log.power_w)},
            {"conversion_efficiency", optional_json(log.conversion_efficiency)}};
  }
  return {{"power_w", optional_json(log.power_w)},
          {"energy_j", optional_json(log.energy_j)},
          {"measured_s", optional_json(log.measured_s)},
          {"samples", log.samples},
          {"sampling_interval_s", optional_json(log.sampling_interval_s)},
          {"conversion_efficiency", optional_json(log.conversion_efficiency)}};
}

Json run_json(const submission::RunEnergy& run) {
  Json logs = Json::object();
  for (const submission::NamedPowerLog& one : run.logs) {
    logs[base::printable(one.file)] = log_json(one.log);
  }
  return {{"energy_j", optional_json(run.energy_j)},
          {"power_w", optional_json(run.power_w)},
          {"time_to_train_s", optional_json(run.time_to_train_s)},
          {"counts", run.counts},
          {"logs", logs}};
}

}  // namespace

Json energy_json(const submission::SetEnergy& energy) {
  Json runs = Json::object();
  for (const submission::RunEnergy& run : energy.runs) {
    runs[base::printable(run.file)] = run_json(run);
  }
  return {{"energy_j", optional_json(energy.energy_j)},
          {"mean_energy_j", optional_json(energy.mean_energy_j)},
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
