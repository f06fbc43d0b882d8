// Audit of a log's intervals: starts without stops, numbers that differ, overlaps and crossings.
// Each rank of a job may have logged its own copy of a record.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analysis/audit/parts.h"
#include "analysis/numbers.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

struct Kind {
  const char* name;
  const char* start;
  const char* stop;
};
constexpr std::array kKinds = {Kind{"block", keys::kBlockStart, keys::kBlockStop},
                               Kind{"epoch", keys::kEpochStart, keys::kEpochStop},
                               Kind{"evaluation", keys::kEvalStart, keys::kEvalStop},
                               Kind{"save", keys::kSaveStart, keys::kSaveStop},
                               Kind{"staging", keys::kStagingStart, keys::kStagingStop}};

/// All intervals with one number, merged, as they may be copies by several ranks.
struct Numbered {
  std::optional<double> label;
  const Mark* start = nullptr;  ///< the earliest
  const Mark* stop = nullptr;   ///< the latest
  std::int64_t starts = 0, stops = 0;
};

std::vector<Numbered> by_number(const ParsedLog& log, const Kind& kind) {
  const std::vector<Mark>& starts = log.all(kind.start);
  const std::vector<Mark>& stops = log.all(kind.stop);
  std::vector<std::pair<const Mark*, bool>> marks;  // and whether it is a start
  marks.reserve(starts.size() + stops.size());
  for (const Mark& mark : starts) marks.emplace_back(&mark, true);
  for (const Mark& mark : stops) marks.emplace_back(&mark, false);
  std::ranges::stable_sort(marks, {}, [](const auto& one) { return one.first->label; });
  std::vector<Numbered> list;
  for (const auto& [mark, is_start] : marks) {
    if (list.empty() || list.back().label != mark->label) list.emplace_back().label = mark->label;
    Numbered& one = list.back();
    if (is_start) {
      if (!one.start || mark->time_ms < one.start->time_ms) one.start = mark;
      ++one.starts;
    } else {
      if (!one.stop || mark->time_ms > one.stop->time_ms) one.stop = mark;
      ++one.stops;
    }
  }
  return list;
}

std::string numbered(const Kind& kind, const std::optional<double>& label) {
  return label ? fmt::format("{} {}", kind.name, *label) : kind.name;
}

/// Starts and stops of one kind that have no partner.
struct Unpaired {
  std::int64_t starts = 0, stops = 0;
  const Numbered* started = nullptr;  ///< the first of them in the file
  const Numbered* stopped = nullptr;
};

Unpaired unpaired(const std::vector<Numbered>& all, const Mark* cut_off) {
  Unpaired result;
  for (const Numbered& one : all) {
    if (cut_off && one.label == cut_off->label) continue;
    if (one.start && (!one.stop || (!one.label && one.starts > one.stops))) {
      result.starts += one.label ? 1 : one.starts - one.stops;
      if (!result.started || one.start->line < result.started->start->line) result.started = &one;
    }
    if (one.stop && (!one.start || (!one.label && one.stops > one.starts))) {
      result.stops += one.label ? 1 : one.stops - one.starts;
      if (!result.stopped || one.stop->line < result.stopped->stop->line) result.stopped = &one;
    }
  }
  return result;
}

/// The interval that was open when a run was cut off: the last start in the file. Null if the log
/// has a run_stop.
const Mark* open_at_the_end(const ParsedLog& log, const Kind& kind) {
  const std::vector<Mark>& starts = log.all(kind.start);
  return log.first(keys::kRunStop) || starts.empty() ? nullptr : &starts.back();
}

void audit_pairs(const AuditInput& input, const Kind& kind, const std::vector<Numbered>& all,
                 AuditFindings& findings) {
  const bool has_no_stops = input.log.format == mllog::LogFormat::kMlpV05 &&
                            kind.stop == std::string_view(keys::kEpochStop);
  if (has_no_stops) return;
  const Unpaired odd = unpaired(all, open_at_the_end(input.log, kind));
  const std::int64_t renamed = std::min(odd.starts, odd.stops);
  if (renamed > 0) {
    findings.add_finding(
        Rule::kIntervalLabelsDiffer, place_of(*odd.started->start),
        fmt::format("{} starts without a stop of their number: {}, stops without a "
                    "start: {}; {} is the first",
                    kind.name, odd.starts, odd.stops, numbered(kind, odd.started->label)));
  }
  if (odd.starts > odd.stops) {
    findings.add_finding(
        Rule::kIntervalNotStopped, place_of(*odd.started->start),
        fmt::format("{} without {}: {} of them, {} is the first", kind.start, kind.stop,
                    odd.starts - renamed, numbered(kind, odd.started->label)));
  }
  if (odd.stops > odd.starts) {
    findings.add_finding(
        Rule::kIntervalNotStarted, place_of(*odd.stopped->stop),
        fmt::format("{} without {}: {} of them, {} is the first", kind.stop, kind.start,
                    odd.stops - renamed, numbered(kind, odd.stopped->label)));
  }
}

/// Intervals with a number, a start and a stop, in order of their starts.
std::vector<Numbered> complete(std::vector<Numbered> all) {
  std::erase_if(all, [](const Numbered& one) {
    return !one.label || !one.start || !one.stop || one.stop->time_ms <= one.start->time_ms;
  });
  std::stable_sort(all.begin(), all.end(), [](const Numbered& a, const Numbered& b) {
    return a.start->time_ms < b.start->time_ms;
  });
  return all;
}

void audit_overlaps(const Kind& kind, const std::vector<Numbered>& in_order,
                    AuditFindings& findings) {
  Tally seen;
  double longest_ms = 0.0;
  const Numbered* open_longest = nullptr;
  for (const Numbered& one : in_order) {
    if (open_longest) {
      const double end_ms = std::min(open_longest->stop->time_ms, one.stop->time_ms);
      const double shared = end_ms - one.start->time_ms;
      if (shared > kHarmlessMs) {
        if (seen.count++ == 0) seen.first = place_of(*one.start);
        longest_ms = std::max(longest_ms, shared);
      }
    }
    if (!open_longest || one.stop->time_ms > open_longest->stop->time_ms) open_longest = &one;
  }
  if (seen.count == 0) return;
  findings.add_finding(
      Rule::kIntervalsOverlap, seen.first,
      fmt::format("{} {}s begin before an earlier one has ended, by up to {}; first here",
                  seen.count, kind.name, duration_text(longest_ms / base::kMsPerSecond)));
}

/// By how much `inner` ends after the interval of `outer` in which it begins; 0 if it does not.
double crossing_ms(const Numbered& inner, const std::vector<Numbered>& outer) {
  auto after = std::upper_bound(
      outer.begin(), outer.end(), inner.start->time_ms,
      [](double time_ms, const Numbered& one) { return time_ms < one.start->time_ms; });
  if (after == outer.begin()) return 0.0;
  const Numbered& around = *--after;
  if (around.stop->time_ms - inner.start->time_ms <= kHarmlessMs) return 0.0;
  if (inner.start->time_ms - around.start->time_ms <= kHarmlessMs) return 0.0;
  return std::max(0.0, inner.stop->time_ms - around.stop->time_ms);
}

void audit_crossings(const Kind& inner_kind, const std::vector<Numbered>& inner,
                     const Kind& outer_kind, const std::vector<Numbered>& outer,
                     AuditFindings& findings) {
  Tally seen;
  double longest_ms = 0.0;
  for (const Numbered& one : inner) {
    const double over_ms = crossing_ms(one, outer);
    if (over_ms <= kHarmlessMs) continue;
    if (seen.count++ == 0) seen.first = place_of(*one.start);
    longest_ms = std::max(longest_ms, over_ms);
  }
  if (seen.count == 0) return;
  findings.add_finding(
      Rule::kIntervalsCross, seen.first,
      fmt::format("{} {}s begin inside one {} and end up to {} after it; first here", seen.count,
                  inner_kind.name, outer_kind.name,
                  duration_text(longest_ms / base::kMsPerSecond)));
}

void audit_async(const AuditInput& input, AuditFindings& findings) {
  const std::vector<Mark>& starts = input.log.all(keys::kEvalStart);
  if (!input.facts.parts.async_eval || starts.empty()) return;
  const double share = input.facts.window_s.value_or(0.0) > 0.0
                           ? 100.0 * *input.facts.parts.eval_s / *input.facts.window_s
                           : 0.0;
  findings.add_finding(
      Rule::kAsyncEvaluation, place_of(starts.front()),
      fmt::format("evaluations take {:.0f} % of the run, beside the training of other "
                  "epochs",
                  share));
}

}  // namespace

void audit_intervals(const AuditInput& input, AuditFindings& findings) {
  std::array<std::vector<Numbered>, kKinds.size()> in_order;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    std::vector<Numbered> all = by_number(input.log, kKinds[i]);
    audit_pairs(input, kKinds[i], all, findings);
    in_order[i] = complete(std::move(all));
    audit_overlaps(kKinds[i], in_order[i], findings);
  }
  constexpr std::size_t kBlocks = 0, kEpochs = 1, kEvaluations = 2;
  audit_crossings(kKinds[kEpochs], in_order[kEpochs], kKinds[kBlocks], in_order[kBlocks], findings);
  audit_async(input, findings);
  if (input.facts.parts.async_eval) return;
  audit_crossings(kKinds[kEvaluations], in_order[kEvaluations], kKinds[kEpochs], in_order[kEpochs],
                  findings);
  audit_crossings(kKinds[kEpochs], in_order[kEpochs], kKinds[kEvaluations], in_order[kEvaluations],
                  findings);
}

}  // namespace analysis
