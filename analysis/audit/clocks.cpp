// Audit of a log's times: two clocks, steps back, initialisation, staging.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/audit/parts.h"
#include "analysis/numbers.h"
#include "runner/base/printable.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

/// Source: MLPerf training policies, Run Results.
constexpr double kInitLimitClosedS = 30.0 * 60.0;
constexpr double kInitLimitOpenS = 4.0 * 3600.0;
/// Staging that takes less moves no data.
constexpr double kEmptyStagingS = 0.3;
constexpr double kNothingS = 0.001;

/// The place where the second of several clocks is first used.
Place second_clock(const LogOddities& odd) {
  std::array places = {odd.small_time, odd.calendar_time, odd.large_time};
  std::ranges::sort(places, {}, &Place::line);
  return places[0].line > 0 ? places[1] : places[2];
}

void audit_unit(const AuditInput& input, AuditFindings& findings) {
  if (!input.facts.other_unit) return;
  const LogOddities& odd = input.log.oddities;
  findings.add_finding(Rule::kTimeUnit, odd.small_time.line > 0 ? odd.small_time : odd.large_time,
                       fmt::format("time_ms is up to {:.0f}: expected milliseconds since 1970, "
                                   "found {}",
                                   input.log.largest_time_ms, *input.facts.other_unit));
}

void audit_order(const AuditInput& input, AuditFindings& findings) {
  const LogOddities& odd = input.log.oddities;
  const bool only_zeros = odd.zero_times.count > 0 && odd.small_time.line > 0 &&
                          odd.small_time.line == odd.zero_times.first.line;
  if (odd.zero_times.count > 0) {
    findings.add_finding(Rule::kTimeZero, odd.zero_times.first,
                         fmt::format("time_ms is 0 or less in {}, first here",
                                     base::counted(odd.zero_times.count, "record")));
  }
  if (input.facts.mixed_clocks && !only_zeros) {
    findings.add_finding(Rule::kTwoClocks, second_clock(odd),
                         "times of two clocks in one log: the second one first here");
  } else if (!input.facts.mixed_clocks && input.facts.max_reversal_ms > kHarmlessMs) {
    findings.add_finding(
        Rule::kTimeGoesBack, odd.largest_reversal,
        fmt::format("time goes back in {}, by up to {} here",
                    base::counted(input.facts.time_reversals, "place"),
                    duration_text(input.facts.max_reversal_ms / base::kMsPerSecond)));
  }
}

double init_limit_s(const AuditInput& input) {
  const bool hpc = input.benchmark && input.benchmark->usage == "hpc";
  return input.closed || hpc ? kInitLimitClosedS : kInitLimitOpenS;
}

void audit_init(const AuditInput& input, AuditFindings& findings) {
  const Mark* stop = input.log.first(keys::kInitStop);
  const Mark* run = input.log.first(keys::kRunStart);
  if (!stop || !input.facts.init_s) return;
  const double init_s = *input.facts.init_s;
  if (init_s < 0.0) {
    findings.add_finding(
        Rule::kInitTimesImpossible, place_of(*stop),
        fmt::format("init_stop is {} earlier than any init_start", duration_text(-init_s)));
  } else if (run && stop->time_ms - run->time_ms > kHarmlessMs) {
    findings.add_finding(
        Rule::kInitTimesImpossible, place_of(*stop),
        fmt::format("init_stop is stamped {} later than run_start",
                    duration_text((stop->time_ms - run->time_ms) / base::kMsPerSecond)));
  } else if (init_s > init_limit_s(input) && !input.facts.mixed_clocks) {
    findings.add_finding(Rule::kInitTooLong, place_of(*stop),
                         fmt::format("initialisation took {}, expected at most {}",
                                     duration_text(init_s), duration_text(init_limit_s(input))));
  }
}

void audit_staging(const AuditInput& input, AuditFindings& findings) {
  const RunParts& parts = input.facts.parts;
  const std::vector<Mark>& starts = input.log.all(keys::kStagingStart);
  if (!parts.staging_s || starts.empty()) return;
  const double outside_s = *parts.staging_s - parts.staging_in_run_s.value_or(0.0);
  if (*parts.staging_s < kEmptyStagingS) {
    findings.add_finding(Rule::kStagingEmpty, place_of(starts.front()),
                         fmt::format("staging_start and staging_stop are {} apart",
                                     duration_text(*parts.staging_s)));
  } else if (outside_s > kNothingS) {
    findings.add_finding(
        Rule::kStagingOutsideRun, place_of(starts.front()),
        fmt::format("{} of {} of staging lie outside the run and do not count in the "
                    "time to train",
                    duration_text(outside_s), duration_text(*parts.staging_s)));
  }
}

}  // namespace

void audit_clocks(const AuditInput& input, AuditFindings& findings) {
  audit_unit(input, findings);
  audit_order(input, findings);
  audit_init(input, findings);
  audit_staging(input, findings);
}

}  // namespace analysis
