// Plots of reference points and sets as text.
#include "analysis/report/text/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "analysis/numbers.h"
#include "analysis/report/text/page.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;
using submission::ConvergencePoint;

constexpr std::size_t kFewestColumns = 40;  ///< of the whole picture
constexpr std::size_t kMostColumns = 120;   ///< wider ones are hard to read
constexpr std::size_t kFewestRows = 10;
constexpr std::size_t kMostRows = 20;
constexpr std::size_t kColumnsPerRow = 5;
constexpr std::size_t kRowsPerTick = 3;

constexpr char kMean = 'O', kPruned = 'x', kInterval = '|', kLeast = '=', kCurve = '.',
               kLimit = '-';
constexpr char kSeveral = '#';
/// Marks of the sets, without characters that look like those of a mean or a pruned point.
constexpr std::string_view kMarks = "123456789abcdefghijkmnpqrstuvwyz";

char mark_of(std::size_t set) { return set < kMarks.size() ? kMarks[set] : kSeveral; }

bool is_mark(char character) {
  return character == kSeveral || kMarks.find(character) != std::string_view::npos;
}

class Picture {
 public:
  Picture(const ConvergencePlot& plot, std::size_t width);
  void write(std::ostream& out) const;

 private:
  double column(double batch_size) const {
    return plot_.batch_sizes.at(batch_size) * static_cast<double>(columns_ - 1);
  }
  double row(double value) const {
    return (1.0 - plot_.values.at(value)) * static_cast<double>(cells_.size() - 1);
  }
  char& cell(double column, double row);
  void draw_line(const PlotLine& line, char character);
  void draw_points(bool pruned);
  void draw_sets();
  void write_batch_sizes(std::ostream& out) const;

  const ConvergencePlot& plot_;
  std::vector<Scale::Tick> values_;  ///< ticks of the vertical axis
  std::size_t label_columns_ = 0;
  std::size_t columns_ = 0;
  std::vector<std::string> cells_;
};

Picture::Picture(const ConvergencePlot& plot, std::size_t width) : plot_(plot) {
  width = std::clamp(width, kFewestColumns, kMostColumns);
  const std::size_t rows = std::clamp(width / kColumnsPerRow, kFewestRows, kMostRows);
  values_ = plot.values.ticks(rows / kRowsPerTick);
  for (const Scale::Tick& tick : values_) {
    label_columns_ = std::max(label_columns_, tick.text.size());
  }
  columns_ = width - TextTable::kIndent - label_columns_ - 2;  // a blank and the axis
  cells_.assign(rows, std::string(columns_, ' '));
  for (const PlotLine& limit : plot.limits) draw_line(limit, kLimit);
  draw_line(plot.curve, kCurve);
  draw_points(true);
  draw_points(false);
  draw_sets();
}

char& Picture::cell(double column, double row) {
  const auto x = static_cast<std::size_t>(std::lround(column));
  const auto y = static_cast<std::size_t>(std::lround(row));
  return cells_[std::min(y, cells_.size() - 1)][std::min(x, columns_ - 1)];
}

/// Draws one character per column, however steep the line.
void Picture::draw_line(const PlotLine& line, char character) {
  for (std::size_t i = 1; i < line.size(); ++i) {
    const double x0 = column(line[i - 1].batch_size), x1 = column(line[i].batch_size);
    const double y0 = row(line[i - 1].value), y1 = row(line[i].value);
    for (double x = std::ceil(x0); x <= x1; ++x) {
      cell(x, x1 > x0 ? y0 + (y1 - y0) * (x - x0) / (x1 - x0) : y0) = character;
    }
  }
}

void Picture::draw_points(bool pruned) {
  for (const ConvergencePoint& point : plot_.points) {
    if (point.pruned != pruned) continue;
    const double x = column(point.batch_size);
    const double half = point.test.half_width();
    const double last = std::round(row(point.test.mean - half));
    for (double y = std::round(row(point.test.mean + half)); y <= last; ++y) {
      cell(x, y) = kInterval;
    }
    if (!pruned) cell(x, row(point.least_mean)) = kLeast;
    cell(x, row(point.test.mean)) = pruned ? kPruned : kMean;
  }
}

void Picture::draw_sets() {
  for (std::size_t i = 0; i < plot_.sets.size(); ++i) {
    const auto& place = plot_.sets[i].place;
    if (!place) continue;
    char& held = cell(column(place->batch_size), row(place->value));
    held = is_mark(held) ? kSeveral : mark_of(i);
  }
}

void Picture::write(std::ostream& out) const {
  const std::string indent(TextTable::kIndent, ' ');
  for (std::size_t y = 0; y < cells_.size(); ++y) {
    std::string label;
    for (const Scale::Tick& tick : values_) {
      if (std::lround(row(tick.value)) == static_cast<long>(y)) label = tick.text;
    }
    std::string line = fmt::format("{}{:>{}} {}{}", indent, label, label_columns_,
                                   label.empty() ? '|' : '+', cells_[y]);
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
  write_batch_sizes(out);
}

/// Writes as many ticks as have room for their labels.
void Picture::write_batch_sizes(std::ostream& out) const {
  const std::string before(TextTable::kIndent + label_columns_ + 1, ' ');
  std::string axis(columns_, '-');
  std::string numbers;
  std::size_t most = columns_;
  const auto fit = [&](const std::vector<Scale::Tick>& ticks) {
    axis.assign(columns_, '-');
    numbers.clear();
    for (const Scale::Tick& tick : ticks) {
      const auto x = static_cast<std::size_t>(std::lround(column(tick.value)));
      // The label is centred below its tick, but kept within the plot's width.
      std::size_t begin = x + 1 > tick.text.size() / 2 ? x + 1 - tick.text.size() / 2 : 0;
      begin = std::min(begin, columns_ + 1 - std::min(tick.text.size(), columns_ + 1));
      if (!numbers.empty() && begin < numbers.size() + 1) return false;
      numbers.resize(begin, ' ');
      numbers += tick.text;
      axis[x] = '+';
    }
    return true;
  };
  while (!fit(plot_.batch_sizes.ticks(most)) && most > 1) --most;
  out << before << '+' << axis << '\n' << before << numbers << '\n';
}

std::string legend(const ConvergencePlot& plot) {
  const bool has_pruned = std::any_of(plot.points.begin(), plot.points.end(),
                                      [](const ConvergencePoint& point) { return point.pruned; });
  const bool has_marks = std::any_of(plot.sets.begin(), plot.sets.end(),
                                     [](const PlottedSet& set) { return set.place.has_value(); });
  std::string text = fmt::format(
      "{} mean of a reference point, {} its interval, {} the least mean that passes there", kMean,
      kInterval, kLeast);
  if (has_pruned) text += fmt::format(", {} mean of a pruned point", kPruned);
  if (!plot.curve.empty()) text += fmt::format(", {} means between points", kCurve);
  if (!plot.limits.empty()) text += fmt::format(", {} least means elsewhere", kLimit);
  if (has_marks) text += fmt::format(", 1 2 .. means of the sets below, {} several", kSeveral);
  return text;
}

TextTable table_of(const ConvergencePlot& plot) {
  TextTable table;
  table.add_column("set", Align::kLeft);
  for (const char* const heading : {"mark", "batch size", "mean", "least"}) {
    table.add_column(heading, Align::kRight);
  }
  table.add_column("verdict", Align::kLeft);
  table.add_column("compared with", Align::kLeft);
  for (std::size_t i = 0; i < plot.sets.size(); ++i) {
    const PlottedSet& set = plot.sets[i];
    table.add_row({set.name, set.place ? std::string(1, mark_of(i)) : "-",
                   set.place ? digits_text(set.place->batch_size) : "-",
                   set.place ? digits_text(set.place->value) : "-",
                   set.least ? digits_text(*set.least) : "-", to_string(set.verdict),
                   set.compared_with});
  }
  return table;
}

}  // namespace

void write_plot_text(std::ostream& out, const ConvergencePlot& plot, std::size_t width) {
  TextPage page(out, width);
  page.paragraph(fmt::format("{}, against {}", value_axis(plot), batch_size_axis()));
  Picture(plot, width).write(out);
  page.paragraph(legend(plot));
  const TextTable table = table_of(plot);
  if (table.empty()) return;
  out << '\n';
  page.table(table);
}

void write_plots_text(std::ostream& out, std::span<const ConvergencePlot> plots,
                      std::size_t width) {
  TextPage page(out, width);
  for (const ConvergencePlot& plot : plots) {
    out << '\n';
    page.title(plot.title);
    write_plot_text(out, plot, width);
  }
  if (plots.empty()) page.paragraph(kNoPlots);
}

}  // namespace analysis::report
