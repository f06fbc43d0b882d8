// Intervals of time: sweeps over sorted end points.
#include "analysis/intervals.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace analysis {
namespace {

struct MarkEvent {
  const Mark* mark;
  bool is_start;
};

bool earlier(const MarkEvent& one, const MarkEvent& other) {
  if (one.mark->time_ms != other.mark->time_ms) return one.mark->time_ms < other.mark->time_ms;
  return one.mark->order < other.mark->order;
}

std::vector<MarkEvent> in_time_order(const std::vector<Mark>& starts,
                                     const std::vector<Mark>& stops) {
  std::vector<MarkEvent> events;
  events.reserve(starts.size() + stops.size());
  for (const Mark& mark : starts) events.push_back({&mark, true});
  const auto middle = static_cast<std::ptrdiff_t>(events.size());
  for (const Mark& mark : stops) events.push_back({&mark, false});
  // Most logs have the marks in order.
  for (const auto& [from, to] : {std::pair{events.begin(), events.begin() + middle},
                                 std::pair{events.begin() + middle, events.end()}}) {
    if (!std::is_sorted(from, to, earlier)) std::sort(from, to, earlier);
  }
  std::inplace_merge(events.begin(), events.begin() + middle, events.end(), earlier);
  return events;
}

/// The starts that no stop has closed yet, in order of opening.
class OpenStarts {
 public:
  /// `events` holds all starts that will be opened, in order.
  explicit OpenStarts(const std::vector<MarkEvent>& events) {
    for (const MarkEvent& event : events) {
      if (event.is_start) marks_.push_back(event.mark);
    }
    is_closed_.resize(marks_.size());
  }

  void open_next() { ++opened_; }

  /// The start that a stop with this label closes, or null when none is open.
  const Mark* close(const std::optional<double>& label) {
    if (opened_ == closed_) return nullptr;
    // If a single start is open, its label does not matter.
    std::optional<std::size_t> index;
    if (opened_ - closed_ > 1) index = first_labelled(label);
    if (!index) index = first_open();
    is_closed_[*index] = 1;
    ++closed_;
    return marks_[*index];
  }

  std::vector<const Mark*> rest() const {
    std::vector<const Mark*> open;
    for (std::size_t i = 0; i < opened_; ++i) {
      if (!is_closed_[i]) open.push_back(marks_[i]);
    }
    return open;
  }

 private:
  std::size_t first_open() {
    while (is_closed_[first_]) ++first_;
    return first_;
  }

  std::optional<std::size_t> first_labelled(const std::optional<double>& label) {
    if (by_label_.empty()) index_labels();
    const auto label_of = [&](std::size_t index) { return marks_[index]->label; };
    const auto group = std::ranges::lower_bound(by_label_, label, {}, label_of) - by_label_.begin();
    std::size_t& at = next_of_group_[static_cast<std::size_t>(group)];
    while (at < by_label_.size() && label_of(by_label_[at]) == label) {
      const std::size_t index = by_label_[at];
      if (index >= opened_) return std::nullopt;
      if (!is_closed_[index]) return index;
      ++at;
    }
    return std::nullopt;
  }

  void index_labels() {
    by_label_.resize(marks_.size());
    std::iota(by_label_.begin(), by_label_.end(), 0);
    std::ranges::stable_sort(by_label_, {},
                             [&](std::size_t index) { return marks_[index]->label; });
    next_of_group_.resize(marks_.size() + 1);
    std::iota(next_of_group_.begin(), next_of_group_.end(), 0);
  }

  std::vector<const Mark*> marks_;
  std::vector<char> is_closed_;
  std::size_t opened_ = 0, closed_ = 0;  ///< counts
  std::size_t first_ = 0;                ///< index; all starts before it are closed
  std::vector<std::size_t> by_label_;    ///< indices by label, then in order; built on first use
  /// For each index in by_label_ where a label's group begins: the first of the group that may be
  /// open.
  std::vector<std::size_t> next_of_group_;
};

/// One end point of the sweep in other_epoch_overlap_ms.
struct EndPoint {
  double time_ms;
  double label;
  bool is_epoch;
  int change;  ///< +1 opens, -1 closes
};

void add_end_points(std::vector<EndPoint>& points, const Intervals& intervals, bool is_epoch) {
  for (const Interval& interval : intervals) {
    if (!interval.label || interval.begin_ms >= interval.end_ms) continue;
    points.push_back({interval.begin_ms, *interval.label, is_epoch, +1});
    points.push_back({interval.end_ms, *interval.label, is_epoch, -1});
  }
}

/// How many intervals of each label are open; labels without any are erased.
using OpenCounts = std::map<double, int>;

void change(OpenCounts& counts, const EndPoint& point) {
  int& count = counts[point.label];
  count += point.change;
  if (count == 0) counts.erase(point.label);
}

/// Whether some evaluation and some epoch with another label are both open.
bool overlaps_other_epoch(const OpenCounts& evaluations, const OpenCounts& epochs) {
  if (evaluations.empty() || epochs.empty()) return false;
  if (evaluations.size() > 1 || epochs.size() > 1) return true;
  return evaluations.begin()->first != epochs.begin()->first;
}

}  // namespace

Intervals pair_marks(const std::vector<Mark>& starts, const std::vector<Mark>& stops,
                     const Window& window) {
  const std::vector<MarkEvent> events = in_time_order(starts, stops);
  OpenStarts open(events);
  Intervals intervals;
  intervals.reserve(starts.size());
  const auto add = [&](const Mark& start, double end_ms) {
    intervals.push_back({std::max(start.time_ms, window.begin_ms), std::min(end_ms, window.end_ms),
                         start.label, start.order, start.epoch_count});
  };
  for (const MarkEvent& event : events) {
    if (event.is_start) {
      open.open_next();
    } else if (const Mark* start = open.close(event.mark->label)) {
      add(*start, event.mark->time_ms);
    }
  }
  for (const Mark* start : open.rest()) add(*start, window.end_ms);
  return intervals;
}

Intervals united(Intervals intervals) {
  std::erase_if(intervals, [](const Interval& i) { return !(i.begin_ms < i.end_ms); });
  const auto begins_earlier = [](const Interval& a, const Interval& b) {
    return a.begin_ms < b.begin_ms;
  };
  if (!std::ranges::is_sorted(intervals, begins_earlier)) {
    std::ranges::sort(intervals, begins_earlier);
  }
  Intervals result;
  result.reserve(intervals.size());
  for (const Interval& interval : intervals) {
    if (!result.empty() && interval.begin_ms <= result.back().end_ms) {
      result.back().end_ms = std::max(result.back().end_ms, interval.end_ms);
    } else {
      result.push_back({interval.begin_ms, interval.end_ms, {}, 0, {}});
    }
  }
  return result;
}

double covered_ms(const Intervals& intervals) {
  double total = 0.0;
  for (const Interval& interval : united(intervals)) total += interval.end_ms - interval.begin_ms;
  return total;
}

double shared_ms(const Intervals& one, const Intervals& other) {
  const Intervals a = united(one);
  const Intervals b = united(other);
  double total = 0.0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double begin = std::max(a[i].begin_ms, b[j].begin_ms);
    const double end = std::min(a[i].end_ms, b[j].end_ms);
    if (begin < end) total += end - begin;
    if (a[i].end_ms < b[j].end_ms) {
      ++i;
    } else {
      ++j;
    }
  }
  return total;
}

double other_epoch_overlap_ms(const Intervals& evaluations, const Intervals& epochs) {
  std::vector<EndPoint> points;
  add_end_points(points, evaluations, false);
  add_end_points(points, epochs, true);
  std::sort(points.begin(), points.end(),
            [](const EndPoint& a, const EndPoint& b) { return a.time_ms < b.time_ms; });
  OpenCounts open_evaluations;
  OpenCounts open_epochs;
  double total = 0.0;
  double previous_ms = 0.0;
  for (const EndPoint& point : points) {
    if (overlaps_other_epoch(open_evaluations, open_epochs)) total += point.time_ms - previous_ms;
    change(point.is_epoch ? open_epochs : open_evaluations, point);
    previous_ms = point.time_ms;
  }
  return total;
}

}  // namespace analysis
