// Energy of the runs of a folder with power/.
#include "analysis/submission/energy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>

#include "analysis/submission/package_rules.h"
#include "analysis/submission/package_tree.h"
#include "analysis/systems.h"

namespace analysis::submission {
namespace {

namespace fs = std::filesystem;

constexpr std::array kDefinitions = {
    EnergyDefinition{"energy", "",
                     "what the power logs of the runs say; null where the folder has no power/; "
                     "check --submission tells what is wrong with them"},
    EnergyDefinition{"energy.energy_j", "J",
                     "energy of the set as MLCommons' result summarizer scores it: mean_energy_j "
                     "* scaling_factor"},
    EnergyDefinition{"energy.mean_energy_j", "J",
                     "mean energy_j of the runs that count; absent where one of them has none, and "
                     "for instances trained at the same time"},
    EnergyDefinition{"energy.scaling_factor", "",
                     "factor that the submission's scaling.json gives, 1 without one"},
    EnergyDefinition{"energy.runs.energy_j", "J",
                     "power_w * time_to_train_s: energy of all nodes and switches during the run"},
    EnergyDefinition{"energy.runs.power_w", "W",
                     "sum of power_w of the run's power logs; absent where one of them has none, "
                     "or no node has a log"},
    EnergyDefinition{"energy.runs.time_to_train_s", "s", "run_stop - run_start of the result"},
    EnergyDefinition{"energy.runs.counts", "",
                     "whether olympic scoring, by time, keeps the run for the mean"},
    EnergyDefinition{"energy.logs.power_w", "W",
                     "of a node energy_j / measured_s; of a switch conversion_efficiency * the "
                     "first interconnect_power_est"},
    EnergyDefinition{"energy.logs.energy_j", "J",
                     "of a node conversion_efficiency * sum of (power_reading * time since the "
                     "reading before it, or since the start) from power_measurement_start to "
                     "power_measurement_stop, by time_ms; readings are taken for watts"},
    EnergyDefinition{"energy.logs.measured_s", "s",
                     "power_measurement_stop - power_measurement_start; without a stop the last "
                     "reading - the start"},
    EnergyDefinition{"energy.logs.samples", "", "readings from start to stop"},
    EnergyDefinition{"energy.logs.sampling_interval_s", "s",
                     "measured_s / number of intervals into which its readings divide it"},
    EnergyDefinition{"energy.logs.conversion_efficiency", "",
                     "conversion_eff, the last of a node's log, of a switch's the last before the "
                     "estimate; 1 without one"},
};

/// The source of a log with a name such as node_12.txt.
std::optional<PowerSource> source_of(const std::string& name) {
  if (name.starts_with("node_")) return PowerSource::kNode;
  if (name.starts_with("sw_")) return PowerSource::kSwitch;
  return std::nullopt;
}

mllog::Finding power_finding(const std::string& text) {
  return {Severity::kWarning, 0, 0, text, "power.log"};
}

/// A log without the extension .txt: the official summarizer skips it, and so a part of the system.
PowerLog misnamed_log(PowerSource source) {
  PowerLog log;
  log.source = source;
  log.findings.push_back(power_finding("no energy: expected a name that ends in .txt"));
  return log;
}

/// Nodes before switches, as their names sort.
std::vector<NamedPowerLog> read_logs(const fs::path& folder) {
  std::vector<NamedPowerLog> logs;
  std::string problem;  // reported by the check of names
  for (const fs::path& file : entries_of(folder, problem)) {
    const std::string name = file.filename().string();
    const std::optional<PowerSource> source = source_of(name);
    if (!source) continue;
    const bool is_named_well = file.extension() == ".txt";
    logs.push_back({name, is_named_well ? read_power_log(file, *source) : misnamed_log(*source)});
  }
  return logs;
}

std::optional<double> total_power(const RunEnergy& run) {
  if (run.count(PowerSource::kNode) == 0) return std::nullopt;
  double sum = 0.0;
  for (const NamedPowerLog& one : run.logs) {
    if (!one.log.power_w) return std::nullopt;
    sum += *one.log.power_w;
  }
  return std::isfinite(sum) ? std::optional(sum) : std::nullopt;
}

RunEnergy energy_of_run(const fs::path& set, const TimedRun& timed) {
  RunEnergy run;
  run.file = timed.file;
  run.folder = "power/" + fs::path(timed.file).stem().string();
  run.time_to_train_s = timed.time_to_train_s;
  std::error_code failed;
  if (!fs::is_directory(set / run.folder, failed)) return run;  // reported by the check of names
  run.logs = read_logs(set / run.folder);
  if (run.count(PowerSource::kNode) == 0) {
    run.findings.push_back(
        power_finding("no energy: expected power logs node_<number>.txt, found none"));
  }
  run.power_w = total_power(run);
  if (!run.power_w || !run.time_to_train_s || *run.time_to_train_s <= 0.0) return run;
  const double energy_j = *run.power_w * *run.time_to_train_s;
  if (std::isfinite(energy_j)) run.energy_j = energy_j;
  return run;
}

/// The mean over the runs that count; absent if one of them has no energy.
std::optional<double> mean_energy(const std::vector<RunEnergy>& runs) {
  double sum = 0.0, counted = 0.0;
  for (const RunEnergy& run : runs) {
    if (!run.counts) continue;
    if (!run.energy_j) return std::nullopt;
    sum += *run.energy_j;
    counted += 1.0;
  }
  if (counted == 0.0 || !std::isfinite(sum)) return std::nullopt;
  return sum / counted;
}

}  // namespace

std::int64_t RunEnergy::count(PowerSource source) const {
  return std::count_if(logs.begin(), logs.end(),
                       [&](const NamedPowerLog& one) { return one.log.source == source; });
}

std::vector<std::string> olympic_runs(const std::vector<TimedRun>& valid, std::size_t failing,
                                      std::size_t dropped) {
  std::vector<TimedRun> runs = valid;
  const bool all_timed = std::all_of(runs.begin(), runs.end(), [](const TimedRun& run) {
    return run.time_to_train_s.has_value();
  });
  if (!all_timed) return {};
  std::stable_sort(runs.begin(), runs.end(), [](const TimedRun& one, const TimedRun& other) {
    return *one.time_to_train_s < *other.time_to_train_s;
  });
  const auto [first, last] = olympic_range(runs.size(), failing, dropped);
  std::vector<std::string> kept;
  for (std::size_t i = first; i < last; ++i) kept.push_back(runs[i].file);
  return kept;
}

std::optional<SetEnergy> energy_of(const fs::path& folder, const std::vector<TimedRun>& runs,
                                   const std::vector<std::string>& counting,
                                   double scaling_factor) {
  std::error_code failed;
  if (!fs::is_directory(folder / "power", failed)) return std::nullopt;
  SetEnergy set;
  set.scaling_factor = scaling_factor;
  for (const TimedRun& timed : runs) {
    RunEnergy run = energy_of_run(folder, timed);
    run.counts = std::find(counting.begin(), counting.end(), run.file) != counting.end();
    set.runs.push_back(std::move(run));
  }
  set.mean_energy_j = mean_energy(set.runs);
  if (set.mean_energy_j && std::isfinite(*set.mean_energy_j * scaling_factor)) {
    set.energy_j = *set.mean_energy_j * scaling_factor;
  }
  return set;
}

std::span<const EnergyDefinition> energy_definitions() { return kDefinitions; }

}  // namespace analysis::submission
