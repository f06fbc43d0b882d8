// Audit of a run's telemetry.
#include "analysis/audit/telemetry.h"

#include <fmt/format.h>

#include <cmath>

#include "runner/base/units.h"
#include "runner/telemetry/report_file.h"

namespace analysis {
namespace {

/// Ranks begin and end to measure shortly before or after rank 0's records; on a busy machine the
/// differences are larger.
constexpr double kMomentsS = 1.0;
/// Measuring that costs a larger fraction of the time affects the figures.
constexpr double kMostOverhead = 0.005;

}  // namespace

std::vector<Finding> audit(const RunTelemetry& telemetry, const RunFacts& facts) {
  std::vector<Finding> findings;
  // A resumed run has no ttt_s: its log may cover more than this process.
  if (facts.ttt_s) {
    const double tolerance_s = telemetry::kSumTolerance * *facts.ttt_s + kMomentsS;
    for (const double wall_s : {telemetry.shortest_wall_s, telemetry.longest_wall_s}) {
      if (std::abs(wall_s - *facts.ttt_s) <= tolerance_s) continue;
      findings.push_back(make_finding(
          Rule::kTelemetryNotCovering, {},
          fmt::format("telemetry: a rank accounts for {:.3f} s, the log's run lasted {:.3f} s; "
                      "expected within {} % and {} s",
                      wall_s, *facts.ttt_s, base::kPercent * telemetry::kSumTolerance, kMomentsS)));
      break;
    }
  }
  if (telemetry.overhead_fraction.value_or(0.0) > kMostOverhead) {
    findings.push_back(make_finding(
        Rule::kTelemetryCostly, {},
        fmt::format("telemetry: measuring cost {:.2f} % of the ranks' time, expected below {} %",
                    base::kPercent * *telemetry.overhead_fraction,
                    base::kPercent * kMostOverhead)));
  }
  return findings;
}

}  // namespace analysis
