// Everything that an analysis found.
#include "analysis/report/report.h"

namespace analysis::report {

const Breakdown* RunReport::best_breakdown() const {
  if (telemetry) return &telemetry->subsystems;
  return log_parts ? &*log_parts : nullptr;
}

std::size_t Report::readable() const {
  std::size_t count = 0;
  for (const RunReport& run : runs) count += run.facts.records > 0 ? 1 : 0;
  return count;
}

}  // namespace analysis::report
