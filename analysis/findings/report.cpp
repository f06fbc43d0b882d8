// The results of an analysis.
#include "analysis/findings/report.h"

#include <filesystem>

namespace analysis {

const Breakdown* RunReport::best_breakdown() const {
  if (telemetry) return &telemetry->subsystems;
  return log_parts ? &*log_parts : nullptr;
}

std::size_t Report::readable() const {
  std::size_t count = 0;
  for (const RunReport& run : runs) count += run.facts.records > 0 ? 1 : 0;
  return count;
}

std::string with_time_unit(const std::string& label, const SystemFacts& facts) {
  return facts.other_unit ? label + " (time_ms is " + *facts.other_unit + ")" : label;
}

std::string label_of(const SystemReport& system) {
  std::filesystem::path label;
  for (const auto& part : std::filesystem::path(system.name)) {
    if (part != "results" && part != system.facts.benchmark) label /= part;
  }
  return with_time_unit(label.empty() ? system.name : label.string(), system.facts);
}

}  // namespace analysis
