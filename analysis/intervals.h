// Intervals of time: pairing of starts and stops, union, overlap. Each moment counts once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace analysis {

/// Half-open, in milliseconds; empty if begin_ms >= end_ms. `label` is the epoch's number, if the
/// log has one; `order` is the index of the start among the log's records; `epoch_count` is the
/// number of epochs of a block, from its start.
struct Interval {
  double begin_ms = 0.0;
  double end_ms = 0.0;
  std::optional<double> label;
  std::int64_t order = 0;
  std::optional<double> epoch_count;
};
using Intervals = std::vector<Interval>;

/// One start or stop record; `line` and `column` are its place in the log.
struct Mark {
  double time_ms = 0.0;
  std::optional<double> label;
  std::int64_t order = 0;
  std::optional<double> epoch_count;
  std::int64_t line = 0;
  std::int64_t column = 0;
};

/// The time of a run.
struct Window {
  double begin_ms = 0.0;
  double end_ms = 0.0;
};

/// Pairs starts and stops in time order, ties by file order: a stop closes the earliest open start
/// of its label, or the earliest open start when its label has none. An interval that stays open
/// ends with the window. All intervals are clipped to the window.
Intervals pair_marks(const std::vector<Mark>& starts, const std::vector<Mark>& stops,
                     const Window& window);

/// The union of `intervals` as disjoint intervals in ascending order, without labels.
Intervals united(Intervals intervals);
/// Milliseconds that at least one interval covers.
double covered_ms(const Intervals& intervals);
/// Milliseconds that both sets cover.
double shared_ms(const Intervals& one, const Intervals& other);
/// Milliseconds in which an interval of `evaluations` and an interval of `epochs` with another
/// label are open together. Intervals without a label are left out.
double other_epoch_overlap_ms(const Intervals& evaluations, const Intervals& epochs);

}  // namespace analysis
