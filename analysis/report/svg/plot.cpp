// Plots of reference points and sets as SVG.
#include "analysis/report/svg/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/findings/report.h"
#include "analysis/numbers.h"
#include "analysis/report/svg/element.h"
#include "analysis/report/svg/labels.h"
#include "analysis/report/xml/element.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using submission::ConvergencePoint;

// In pixels.
constexpr double kImageWidth = 900.0, kMargin = 24.0;
constexpr double kLeft = 84.0;  ///< left edge of the plot, after value labels and axis title
constexpr double kPlotHeight = 340.0;
constexpr double kLine = 20.0;        ///< from one line of text to the next
constexpr double kStepOfLine = 8.0;   ///< between points that labels avoid
constexpr double kSmallLetter = 6.8;  ///< estimated width, generous to keep labels apart
constexpr double kLabelHeight = 15.0;
constexpr double kLeastMark = 9.0;  ///< half the width
constexpr std::size_t kXTicks = 12, kYTicks = 8;
constexpr std::size_t kLongestLabel = 30, kLongestName = 44, kLongestLine = 130;

/// One plot with its title above and its sets below.
class Chart {
 public:
  Chart(const ConvergencePlot& plot, double top) : plot_(plot), y_(top) { draw(); }
  const std::string& str() const { return body_; }
  /// The chart's lower edge.
  double bottom() const { return y_; }

 private:
  void draw();
  void draw_head();
  void draw_legend();
  void legend_item(double& x, const std::string& sample, const std::string& words);
  void draw_axes();
  void draw_lines();
  void draw_line(const PlotLine& places, const char* css);
  void draw_point(const ConvergencePoint& point);
  void draw_sets();
  std::string label(std::size_t set, const Box& marker);
  void draw_table();
  std::string label_of(const PlottedSet& set) const;

  double x(double batch_size) const {
    return kLeft + plot_.batch_sizes.at(batch_size) * (kImageWidth - kMargin - kLeft);
  }
  double y(double value) const { return top_ + (1.0 - plot_.values.at(value)) * kPlotHeight; }
  Box around(double x, double y, double half_width, double half_height) const {
    return {x - half_width, y - half_height, x + half_width, y + half_height};
  }

  const ConvergencePlot& plot_;
  double y_;          ///< of the next line of text
  double top_ = 0.0;  ///< of the plot itself
  LabelPlaces labels_{{}};
  std::string body_;
};

void Chart::draw() {
  body_ += fmt::format("<g role=\"group\" aria-label=\"{}\">\n", xml_text(plot_.title));
  draw_head();
  draw_legend();
  top_ = y_ + kLine / 2.0;
  y_ = top_ + kPlotHeight;
  labels_ = LabelPlaces({kLeft, top_, kImageWidth - kMargin, y_});
  draw_axes();
  draw_lines();
  for (const bool pruned : {true, false}) {
    for (const ConvergencePoint& point : plot_.points) {
      if (point.pruned == pruned) draw_point(point);
    }
  }
  draw_sets();
  draw_table();
  body_ += "</g>\n";
}

void Chart::draw_head() {
  y_ += kLine;
  body_ += svg_text(kMargin, y_, "title",
                    base::shortened(base::printable(plot_.title), kLongestName * 2));
  y_ += kLine;
  body_ += svg_text(kMargin, y_, "quiet",
                    base::shortened("Source: " + base::printable(plot_.source), kLongestLine));
  y_ += kLine * 0.9;
  body_ += svg_text(kMargin, y_, "quiet",
                    fmt::format("Intervals hold the means of nine in ten sets of {} runs that "
                                "converge as the reference; statistics of the era {}",
                                plot_.runs_required, plot_.era));
  y_ += kLine * 1.2;
}

void Chart::legend_item(double& x, const std::string& sample, const std::string& words) {
  constexpr double kSample = 34.0;
  const double end = x + kSample + static_cast<double>(words.size()) * kSmallLetter;
  if (end > kImageWidth - kMargin && x > kMargin) {
    x = kMargin;
    y_ += kLine;
  }
  body_ += fmt::format("<g transform=\"translate({:.2f},{:.2f})\">{}</g>\n", x, y_ - 4.0, sample) +
           svg_text(x + kSample - 4.0, y_, "quiet", words);
  x += kSample + static_cast<double>(words.size()) * kSmallLetter + 14.0;
}

void Chart::draw_legend() {
  double x = kMargin;
  const auto has = [&](PlottedSet::Verdict verdict) {
    return std::any_of(plot_.sets.begin(), plot_.sets.end(),
                       [&](const PlottedSet& set) { return set.place && set.verdict == verdict; });
  };
  const auto has_points = [&](bool pruned) {
    return std::any_of(plot_.points.begin(), plot_.points.end(),
                       [&](const ConvergencePoint& one) { return one.pruned == pruned; });
  };
  const std::string point = svg_interval(12.0, -8.0, 8.0) + svg_mean(12.0, 0.0);
  if (has_points(false)) {
    legend_item(x, point, "reference mean, interval of nine in ten");
    legend_item(x, svg_line(3.0, 0.0, 21.0, 0.0, "least"), "least mean at a point");
  }
  if (!plot_.curve.empty()) {
    legend_item(x, svg_line(0.0, 0.0, 24.0, 0.0, "curve"), "reference, interpolated");
  }
  if (!plot_.limits.empty()) {
    legend_item(x, svg_line(0.0, 0.0, 24.0, 0.0, "limit"), "least mean that passes elsewhere");
  }
  if (has_points(true))
    legend_item(x, "<g class=\"pruned\">" + point + "</g>", "pruned, no reference");
  for (const PlottedSet::Verdict verdict :
       {PlottedSet::Verdict::kPasses, PlottedSet::Verdict::kPassesByBypass,
        PlottedSet::Verdict::kFails}) {
    if (has(verdict))
      legend_item(x, svg_marker(verdict, 12.0, 0.0), "set that " + to_string(verdict));
  }
}

void Chart::draw_axes() {
  const double right = kImageWidth - kMargin, below = top_ + kPlotHeight;
  for (const Scale::Tick& tick : plot_.values.ticks(kYTicks)) {
    body_ += svg_line(kLeft, y(tick.value), right, y(tick.value), "grid") +
             svg_text(kLeft - 8.0, y(tick.value) + 4.0, "tick end", tick.text);
  }
  for (const Scale::Tick& tick : plot_.batch_sizes.ticks(kXTicks)) {
    body_ += svg_line(x(tick.value), top_, x(tick.value), below, "grid") +
             svg_text(x(tick.value), below + kLine, "tick middle", tick.text);
  }
  body_ +=
      svg_line(kLeft, below, right, below, "axis") + svg_line(kLeft, top_, kLeft, below, "axis");
  const double middle = top_ + kPlotHeight / 2.0;
  body_ += svg_text(kMargin, middle, "middle", value_axis(plot_),
                    fmt::format(" transform=\"rotate(-90 {:.2f} {:.2f})\"", kMargin, middle));
  y_ = below + 2.2 * kLine;
  body_ += svg_text((kLeft + right) / 2.0, y_, "middle", batch_size_axis());
}

void Chart::draw_line(const PlotLine& places, const char* css) {
  if (places.empty()) return;
  std::string points;
  for (const PlotPoint& place : places) {
    points += fmt::format("{}{:.2f},{:.2f}", points.empty() ? "" : " ", x(place.batch_size),
                          y(place.value));
  }
  for (std::size_t i = 1; i < places.size(); ++i) {
    const double from = x(places[i - 1].batch_size), to = x(places[i].batch_size);
    const double begin = y(places[i - 1].value), end = y(places[i].value);
    for (double share = 0.0; share <= 1.0;
         share += kStepOfLine / std::max(kStepOfLine, to - from)) {
      labels_.avoid(from + share * (to - from), begin + share * (end - begin));
    }
  }
  body_ += fmt::format("<polyline points=\"{}\" class=\"{}\"/>\n", points, css);
}

void Chart::draw_lines() {
  for (const PlotLine& limit : plot_.limits) draw_line(limit, "limit");
  draw_line(plot_.curve, "curve");
}

void Chart::draw_point(const ConvergencePoint& point) {
  const double at = x(point.batch_size), mean = y(point.test.mean);
  const double half = mean - y(point.test.mean + point.test.half_width());
  const std::string what = fmt::format(
      "{}reference point at batch size {}: mean {} {}, interval {} to {}, at least {}",
      point.pruned ? "pruned " : "", digits_text(point.batch_size), digits_text(point.test.mean),
      plot_.unit, digits_text(point.test.mean - point.test.half_width()),
      digits_text(point.test.mean + point.test.half_width()), digits_text(point.least_mean));
  std::string drawn = svg_interval(at, mean - half, mean + half);
  if (!point.pruned) {
    const double least = y(point.least_mean);
    drawn += svg_line(at - kLeastMark, least, at + kLeastMark, least, "least");
  }
  body_ += svg_group_with_title(point.pruned ? "point pruned" : "point", what,
                                drawn + svg_mean(at, mean));
  labels_.block(around(at, mean, kLeastMark, std::max(half, kHalfMarker) + 2.0));
}

/// Blocks the places of all markers before placing the first label, so that no label hides one.
void Chart::draw_sets() {
  std::string markers, names;
  for (const PlottedSet& set : plot_.sets) {
    if (!set.place) continue;
    labels_.block(around(x(set.place->batch_size), y(set.place->value), kHalfMarker, kHalfMarker));
  }
  for (std::size_t i = 0; i < plot_.sets.size(); ++i) {
    const PlottedSet& set = plot_.sets[i];
    if (!set.place) continue;
    const double at = x(set.place->batch_size), mean = y(set.place->value);
    const std::string what =
        fmt::format("{} {}: batch size {}, mean {} {}: {}", i + 1, base::printable(set.name),
                    digits_text(set.place->batch_size), digits_text(set.place->value), plot_.unit,
                    to_string(set.verdict));
    markers += svg_group_with_title("set", what, svg_marker(set.verdict, at, mean));
    names += label(i, around(at, mean, kHalfMarker, kHalfMarker));
  }
  body_ += markers + names;  // above the lines from markers to their labels
}

/// The name without "results" and the benchmark, which all sets of a plot share.
std::string Chart::label_of(const PlottedSet& set) const {
  constexpr std::string_view kResults = "/results/";
  std::string name = set.name;
  const std::string end = "/" + plot_.benchmark;
  if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  const std::size_t at = name.find(kResults);
  return at == std::string::npos ? name : name.replace(at, kResults.size(), "/");
}

/// The number of a set and, if there is room, its name.
std::string Chart::label(std::size_t set, const Box& marker) {
  const std::string name = base::printable(label_of(plot_.sets[set]));
  const std::string full = fmt::format("{} {}", set + 1, base::shortened(name, kLongestLabel));
  for (const std::string& words : {full, std::to_string(set + 1)}) {
    const double width = static_cast<double>(base::columns(words)) * kSmallLetter;
    const auto place = labels_.place(marker, width, kLabelHeight);
    if (!place) continue;
    const double x = (marker.left + marker.right) / 2.0, y = (marker.top + marker.bottom) / 2.0;
    // A line connects the marker with a label that does not touch it.
    const double to_x = std::clamp(x, place->left, place->right);
    const double to_y = std::clamp(y, place->top, place->bottom);
    const bool is_far = std::hypot(to_x - x, to_y - y) > 2.5 * kHalfMarker;
    if (is_far) body_ += svg_line(x, y, to_x, to_y, "leader");
    // Anchored at the marker's side, since the viewer's font may be wider or narrower.
    const bool is_left = place->right <= marker.left;
    return svg_text(is_left ? place->right : place->left, place->bottom - 4.0,
                    is_left ? "name end" : "name", words);
  }
  return "";
}

void Chart::draw_table() {
  y_ += kLine;
  if (plot_.sets.empty()) return;
  constexpr double kNameColumn = kMargin + 20.0, kVerdictColumn = 392.0, kBatchColumn = 570.0,
                   kMeanColumn = 650.0, kLeastColumn = 730.0, kReferenceColumn = 750.0;
  y_ += kLine / 2.0;
  body_ += svg_text(kNameColumn, y_, "head", "set") +
           svg_text(kVerdictColumn, y_, "head", "verdict") +
           svg_text(kBatchColumn, y_, "head end", "batch size") +
           svg_text(kMeanColumn, y_, "head end", "mean") +
           svg_text(kLeastColumn, y_, "head end", "least") +
           svg_text(kReferenceColumn, y_, "head", "compared with");
  for (std::size_t i = 0; i < plot_.sets.size(); ++i) {
    const PlottedSet& set = plot_.sets[i];
    y_ += kLine;
    const std::string name =
        fmt::format("{} {}", i + 1, base::shortened(base::printable(set.name), kLongestName));
    body_ += svg_marker(set.verdict, kMargin + kHalfMarker, y_ - 4.0) +
             svg_text(kNameColumn, y_, "cell", name) +
             svg_text(kVerdictColumn, y_, "cell", to_string(set.verdict)) +
             svg_text(kReferenceColumn, y_, "cell", set.compared_with);
    if (set.place) {
      body_ += svg_text(kBatchColumn, y_, "cell end", digits_text(set.place->batch_size)) +
               svg_text(kMeanColumn, y_, "cell end", digits_text(set.place->value));
    }
    if (set.least) body_ += svg_text(kLeastColumn, y_, "cell end", digits_text(*set.least));
  }
  y_ += kLine;
}

/// The plots in words, for screen readers.
std::string description(std::span<const ConvergencePlot> plots) {
  std::string all;
  for (const ConvergencePlot& plot : plots) {
    all += fmt::format("{}: {} against {}.", plot.title, value_axis(plot), batch_size_axis());
    for (const ConvergencePoint& point : plot.points) {
      all += fmt::format(" Batch size {}: mean {}, at least {}{}.", digits_text(point.batch_size),
                         digits_text(point.test.mean), digits_text(point.least_mean),
                         point.pruned ? ", pruned" : "");
    }
    for (const PlottedSet& set : plot.sets) {
      all += fmt::format(" {} {}", set.name, to_string(set.verdict));
      if (set.place) {
        all += fmt::format(" at batch size {} with mean {}", digits_text(set.place->batch_size),
                           digits_text(set.place->value));
      }
      all += '.';
    }
    all += ' ';
  }
  return all;
}

}  // namespace

std::string plots_svg(std::span<const ConvergencePlot> plots) {
  std::string charts;
  double bottom = kMargin / 2.0;
  for (const ConvergencePlot& plot : plots) {
    const Chart chart(plot, bottom);
    charts += chart.str();
    bottom = chart.bottom() + kMargin;
  }
  if (plots.empty()) {
    charts = svg_text(kMargin, bottom + kLine, "", kNoPlots);
    bottom += 2.0 * kLine;
  }
  const std::string title = plots.size() == 1 ? plots[0].title : "Reference convergence points";
  return svg_document(title, description(plots), kImageWidth, bottom, charts);
}

}  // namespace analysis::report
