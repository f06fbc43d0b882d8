// Lengths of time that intervals cover, each moment counted once.
// Hides the sweeps over sorted end points.
#include "analysis/intervals.h"

#include <algorithm>
#include <deque>
#include <map>

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
  for (const Mark& mark : stops) events.push_back({&mark, false});
  std::sort(events.begin(), events.end(), earlier);
  return events;
}

/// The starts that no stop has closed yet, in order of opening.
class OpenStarts {
 public:
  void open(const Mark& mark) {
    by_label_[mark.label].push_back(marks_.size());
    marks_.push_back(&mark);
    closed_.push_back(false);
  }

  /// The start that a stop with this label closes, or null when none is open.
  const Mark* close(const std::optional<double>& label) {
    std::deque<std::size_t>& same = by_label_[label];
    while (!same.empty() && closed_[same.front()]) same.pop_front();
    if (!same.empty()) return take(same.front());
    while (first_ < marks_.size() && closed_[first_]) ++first_;
    return first_ < marks_.size() ? take(first_) : nullptr;
  }

  std::vector<const Mark*> rest() const {
    std::vector<const Mark*> open;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      if (!closed_[i]) open.push_back(marks_[i]);
    }
    return open;
  }

 private:
  const Mark* take(std::size_t index) {
    closed_[index] = true;
    return marks_[index];
  }
  std::vector<const Mark*> marks_;
  std::vector<bool> closed_;
  std::size_t first_ = 0;
  std::map<std::optional<double>, std::deque<std::size_t>> by_label_;
};

/// One end point of the sweep in foreign_overlap_ms.
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
bool some_foreign(const OpenCounts& evaluations, const OpenCounts& epochs) {
  if (evaluations.empty() || epochs.empty()) return false;
  if (evaluations.size() > 1 || epochs.size() > 1) return true;
  return evaluations.begin()->first != epochs.begin()->first;
}

}  // namespace

Intervals pair_marks(const std::vector<Mark>& starts, const std::vector<Mark>& stops,
                     const Window& window) {
  OpenStarts open;
  Intervals intervals;
  const auto add = [&](const Mark& start, double end_ms) {
    intervals.push_back({std::max(start.time_ms, window.begin_ms), std::min(end_ms, window.end_ms),
                         start.label, start.order, start.epoch_count});
  };
  for (const MarkEvent& event : in_time_order(starts, stops)) {
    if (event.is_start) {
      open.open(*event.mark);
    } else if (const Mark* start = open.close(event.mark->label)) {
      add(*start, event.mark->time_ms);
    }
  }
  for (const Mark* start : open.rest()) add(*start, window.end_ms);
  return intervals;
}

Intervals united(Intervals intervals) {
  std::erase_if(intervals, [](const Interval& i) { return !(i.begin_ms < i.end_ms); });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ms < b.begin_ms; });
  Intervals result;
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

double foreign_overlap_ms(const Intervals& evaluations, const Intervals& epochs) {
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
    if (some_foreign(open_evaluations, open_epochs)) total += point.time_ms - previous_ms;
    change(point.is_epoch ? open_epochs : open_evaluations, point);
    previous_ms = point.time_ms;
  }
  return total;
}

}  // namespace analysis
