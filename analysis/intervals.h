// Lengths of time that intervals cover, each moment counted once.
// Hides the sweeps over sorted end points.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace analysis {

/// Half-open, in milliseconds; empty when begin >= end. The label is the epoch's number, where the
/// log gives one; `order` is the place of the start among the log's records, and `epoch_count`
/// what the start said about its size (epoch_count of a block).
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

/// The window of a run.
struct Window {
  double begin_ms = 0.0;
  double end_ms = 0.0;
};

/// Pairs starts and stops in time order, ties by file order: a stop closes the earliest open start
/// of its label, or the earliest open start when its label has none. What stays open ends with the
/// window; all are clipped to it.
Intervals pair_marks(const std::vector<Mark>& starts, const std::vector<Mark>& stops,
                     const Window& window);

/// The moments of `intervals`, as disjoint ones in ascending order (labels are dropped).
Intervals united(Intervals intervals);
/// Milliseconds that at least one of them covers.
double covered_ms(const Intervals& intervals);
/// Milliseconds that both sets cover.
double shared_ms(const Intervals& one, const Intervals& other);
/// Milliseconds in which an interval of `evaluations` and an interval of `epochs` with another
/// label are open together. Intervals without a label are left out.
double foreign_overlap_ms(const Intervals& evaluations, const Intervals& epochs);

}  // namespace analysis
