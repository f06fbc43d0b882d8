// Audit of a log around run_start and run_stop: training outside the run, evaluations after its
// end, a late end.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/audit/parts.h"
#include "analysis/numbers.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

/// run_stop is late if it comes later after the target was met than this, and than this fraction of
/// the run.
constexpr double kLateS = 60.0;
constexpr double kLatePart = 0.01;

/// Number of evaluations after the one that met the target, at another position.
std::int64_t further_evaluations(const RunFacts& facts) {
  const Evaluation& hit = facts.evaluations[*facts.at_target];
  return std::count_if(facts.evaluations.begin() + static_cast<std::ptrdiff_t>(*facts.at_target),
                       facts.evaluations.end(), [&](const Evaluation& one) {
                         return one.time_ms > hit.time_ms && one.position != hit.position;
                       });
}

void audit_past_target(const AuditInput& input, AuditFindings& findings) {
  const RunFacts& facts = input.facts;
  if (!facts.at_target || !facts.run_stop_ms || input.facts.evaluates_checkpoints) return;
  const Evaluation& hit = facts.evaluations[*facts.at_target];
  const double after_s = (*facts.run_stop_ms - hit.time_ms) / base::kMsPerSecond;
  const std::string met = fmt::format("{} {} meets the target {}", facts.metric_name(), hit.quality,
                                      *facts.target_value());
  if (const std::int64_t further = further_evaluations(facts); further > 0) {
    findings.add_finding(Rule::kTrainedPastTarget, hit.place,
                         fmt::format("{}, but the run goes on for {} and {} more evaluations", met,
                                     duration_text(after_s), further));
  } else if (after_s > kLateS && after_s > kLatePart * *facts.window_s) {
    findings.add_finding(
        Rule::kLateRunStop, hit.place,
        fmt::format("{}, but run_stop comes {} later", met, duration_text(after_s)));
  }
}

/// Whether a record is after run_stop both in the file and in time.
bool is_after(std::int64_t order, double time_ms, const Mark& stop) {
  return order > stop.order && time_ms > stop.time_ms;
}

void audit_evaluations_after_stop(const AuditInput& input, const Mark& stop,
                                  AuditFindings& findings) {
  const auto found = input.log.evaluations.find(input.facts.metric);
  if (found == input.log.evaluations.end()) return;
  Tally behind;
  std::optional<double> best;
  const auto direction = input.facts.direction();
  for (const Sample& sample : found->second) {
    if (!is_after(sample.order, sample.time_ms, stop)) continue;
    if (behind.count++ == 0) behind.first = sample.place;
    if (!sample.value || !direction) continue;
    best = best ? mllog::better(*direction, *best, *sample.value) : sample.value;
  }
  if (behind.count == 0) return;
  const bool decides = best && !input.facts.at_target && input.facts.target->parts.size() == 1 &&
                       input.facts.target->main().met_by(*best);
  findings.add_finding(Rule::kEvaluationAfterStop, behind.first,
                       fmt::format("{} evaluations after run_stop do not count{}{}; first here",
                                   behind.count, best ? fmt::format(", best {}", *best) : "",
                                   decides ? ": the target is met only after the run" : ""));
}

/// Reports evaluations that are on different sides of run_stop in the file and in time.
void audit_evaluations_at_stop(const AuditInput& input, const Mark& stop, AuditFindings& findings) {
  if (input.facts.evaluates_checkpoints) return;
  Tally seen;
  bool decides = false;
  for (std::size_t i = 0; i < input.facts.evaluations.size(); ++i) {
    const Evaluation& one = input.facts.evaluations[i];
    const bool behind_in_file = one.order > stop.order;
    const bool later = one.time_ms > stop.time_ms;
    if (behind_in_file == later) continue;
    if (seen.count++ == 0) {
      seen.first = one.place;
      seen.what = behind_in_file ? "after run_stop in the file, not later in time"
                                 : "later than run_stop in time, before it in the file";
    }
    decides = decides || i == input.facts.at_target;
  }
  if (seen.count == 0) return;
  findings.add_finding(Rule::kEvaluationAtStop, seen.first,
                       fmt::format("{} evaluations count that are {}{}", seen.count, seen.what,
                                   decides ? "; the run converged by one of them" : ""));
}

/// Starts of training for which `is_outside` holds.
template <class IsOutside>
Tally trained_outside(const ParsedLog& log, IsOutside is_outside) {
  Tally seen;
  for (const char* key : {keys::kEpochStart, keys::kBlockStart}) {
    for (const Mark& mark : log.all(key)) {
      if (!is_outside(mark)) continue;
      if (seen.count++ == 0 || mark.line < seen.first.line) {
        seen.first = place_of(mark);
        seen.what = key;
      }
    }
  }
  return seen;
}

}  // namespace

void audit_stop(const AuditInput& input, AuditFindings& findings) {
  audit_past_target(input, findings);
  if (const Mark* start = input.log.first(keys::kRunStart)) {
    const Tally early = trained_outside(input.log, [&](const Mark& mark) {
      return mark.order < start->order && mark.time_ms < start->time_ms;
    });
    if (early.count > 0) {
      findings.add_finding(Rule::kTrainingBeforeStart, early.first,
                           fmt::format("{} of {} epochs or blocks before run_start, first here",
                                       early.what, early.count));
    }
  }
  const Mark* stop = input.log.first(keys::kRunStop);
  if (!stop) return;
  audit_evaluations_after_stop(input, *stop, findings);
  audit_evaluations_at_stop(input, *stop, findings);
  const Tally late = trained_outside(
      input.log, [&](const Mark& mark) { return is_after(mark.order, mark.time_ms, *stop); });
  if (late.count > 0) {
    findings.add_finding(
        Rule::kTrainingAfterStop, late.first,
        fmt::format("{} of {} epochs or blocks after run_stop, first here", late.what, late.count));
  }
}

}  // namespace analysis
