// Comparisons as text.
#include "analysis/report/text/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/fields.h"
#include "analysis/findings/comparison_definitions.h"
#include "analysis/report/text/page.h"
#include "runner/base/units.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;
using comparison::ConditionDifference;
using comparison::FigureComparison;
using comparison::RunComparison;
using comparison::TelemetryComparison;

/// Most lines of each kind; the rest is only counted. JSON has all.
constexpr std::size_t kMostDifferences = 25, kMostWaiting = 5;

std::string number_text(double value) {
  if (!std::isfinite(value)) return "-";
  return fmt::format("{:.5g}", value);
}

std::string optional_text(const std::optional<double>& value, double factor, int decimals) {
  return value ? fmt::format("{:.{}f}", *value * factor, decimals) : "-";
}

std::string interval_text(const comparison::Interval& interval) {
  if (!std::isfinite(interval.low)) return "-";
  return fmt::format("{:.3f} to {:.3f}", interval.low, interval.high);
}

const std::string& definition(const std::string& name) {
  const auto& all = comparison_definitions();
  return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == name; })
      ->second;
}

std::string defined(TextPage& page, const std::string& label, const std::string& name) {
  return page.defined(label, name, definition(name));
}

void write_sides(TextPage& page, const ComparedGroup& group) {
  TextTable table;
  table.add_column("", Align::kLeft);
  table.add_column("runs", Align::kLeft);
  table.add_column(defined(page, "TTT min", "time to train"), Align::kRight);
  table.add_column(defined(page, "+-", "spread"), Align::kRight);
  table.add_column(page.defined("units", "compute_units"), Align::kRight);
  table.add_column(page.defined("batch", "global_batch_size"), Align::kRight);
  const bool discloses = std::ranges::any_of(
      group.sides, [](const ComparedSide& side) { return side.system->facts.disclosed.is_told(); });
  if (discloses) {
    table.add_column(page.defined("micro", "micro_batch_size"), Align::kRight);
    table.add_column(page.defined("precision", "precision"), Align::kLeft);
    table.add_column(page.defined("parallelism", "parallelism"), Align::kLeft);
  }
  for (const ComparedSide& side : group.sides) {
    const SystemFacts& facts = side.system->facts;
    const auto time = facts.olympic_mean_s ? facts.olympic_mean_s : facts.ttt_mean_s;
    const auto spread = facts.olympic_mean_s ? facts.olympic_stdev_s : facts.ttt_stdev_s;
    std::vector<std::string> row = {side.label,
                                    fmt::format("{} of {}", facts.successful, facts.runs),
                                    time ? number_text(*time / base::kMinute) : "-",
                                    spread ? fmt::format("{:.3g}", *spread / base::kMinute) : "-",
                                    optional_text(facts.compute_units, 1.0, 0),
                                    to_text(facts.global_batch_size)};
    if (discloses) {
      row.push_back(to_text(facts.disclosed.micro_batch_size));
      row.push_back(facts.disclosed.precision);
      row.push_back(facts.disclosed.parallelism);
    }
    table.add_row(std::move(row));
  }
  for (const ComparedSide& side : group.sides) page.fact(side.label, side.side.name, {});
  page.table(table);
}

void write_figures(TextPage& page, const std::string& first, const std::string& second,
                   const RunComparison& comparison) {
  if (!comparison.total) return;
  TextTable table;
  table.add_column("", Align::kLeft);
  table.add_column(first, Align::kRight);
  table.add_column(second, Align::kRight);
  table.add_column("", Align::kLeft);
  table.add_column(defined(page, "ratio", "ratio"), Align::kRight);
  table.add_column(defined(page, "95 %", "interval"), Align::kRight);
  table.add_column(defined(page, "p", "p_value"), Align::kRight);
  table.add_column("", Align::kLeft);
  const auto add = [&](const FigureComparison& figure) {
    table.add_row({page.defined(figure.name, figure.name + " here", figure.definition),
                   number_text(figure.first), number_text(figure.second), figure.unit,
                   fmt::format("{:.3f}", figure.ratio), interval_text(figure.interval),
                   figure.p_value ? fmt::format("{:.2g}", *figure.p_value) : "-",
                   !figure.p_value || figure.distinguishable ? "" : "within noise"});
  };
  add(*comparison.total);
  for (const FigureComparison& factor : comparison.factors) add(factor);
  page.table(table);
}

void write_differences(TextPage& page, const std::string& title,
                       const std::vector<ConditionDifference>& differences) {
  if (differences.empty()) return;
  page.paragraph(title);
  const std::size_t shown = std::min(differences.size(), kMostDifferences);
  for (std::size_t i = 0; i < shown; ++i) {
    const ConditionDifference& one = differences[i];
    page.item(fmt::format("{}: {} | {}", one.what, one.first, one.second));
  }
  if (shown < differences.size()) {
    page.item(fmt::format("{} more, all in the JSON", differences.size() - shown));
  }
}

void write_subsystems(TextPage& page, const std::string& first, const std::string& second,
                      const TelemetryComparison& inside) {
  TextTable table;
  table.add_column(defined(page, "subsystem", "subsystems"), Align::kLeft);
  table.add_column(first + " s", Align::kRight);
  table.add_column(second + " s", Align::kRight);
  table.add_column("diff. s", Align::kRight);
  table.add_column("% of " + first, Align::kRight);
  table.add_column(defined(page, first + " apart s", "ranks_apart_s"), Align::kRight);
  table.add_column(second + " apart s", Align::kRight);
  for (const comparison::SubsystemDifference& one : inside.subsystems) {
    table.add_row(
        {page.defined(one.name, one.name, one.definition), number_text(one.first_s),
         number_text(one.second_s), fmt::format("{:+.4g}", one.difference_s()),
         inside.first_wall_s > 0.0
             ? fmt::format("{:+.1f}", base::kPercent * one.difference_s() / inside.first_wall_s)
             : "-",
         number_text(one.first_spread_s), number_text(one.second_spread_s)});
  }
  page.table(table);
}

void write_waiting(TextPage& page, const std::string& label,
                   const std::vector<std::string>& sentences) {
  const std::size_t shown = std::min(sentences.size(), kMostWaiting);
  for (std::size_t i = 0; i < shown; ++i) page.item(label + ", " + sentences[i]);
  if (shown < sentences.size()) {
    page.item(
        fmt::format("{}: {} more of this kind, all in the JSON", label, sentences.size() - shown));
  }
}

void write_layers(TextPage& page, const std::string& first, const std::string& second,
                  const std::vector<comparison::LayerDifference>& layers) {
  if (layers.empty()) return;
  TextTable table;
  table.add_column(defined(page, "layer", "layers"), Align::kLeft);
  table.add_column(first + " ms", Align::kRight);
  table.add_column(second + " ms", Align::kRight);
  table.add_column("diff. ms", Align::kRight);
  const std::size_t shown = std::min(layers.size(), kMostLayers);
  for (std::size_t i = 0; i < shown; ++i) {
    const comparison::LayerDifference& one = layers[i];
    table.add_row({one.name, optional_text(one.first_s, base::kMsPerSecond, 3),
                   optional_text(one.second_s, base::kMsPerSecond, 3),
                   fmt::format("{:+.3f}", base::kMsPerSecond * one.difference_s())});
  }
  page.table(table);
  if (shown < layers.size()) {
    page.paragraph(fmt::format("{} more layers, all in the JSON", layers.size() - shown));
  }
}

void write_comparison(TextPage& page, const ComparedSide& first, const ComparedSide& second,
                      const RunComparison& comparison) {
  page.heading(verdict(first.label, second.label, comparison), {});
  write_figures(page, first.label, second.label, comparison);
  write_differences(
      page, fmt::format("Not equal ({} | {}), so compare with care:", first.label, second.label),
      comparison.unequal);
  if (const auto& inside = comparison.inside) {
    write_subsystems(page, first.label, second.label, *inside);
    write_waiting(page, first.label, inside->first_waiting);
    write_waiting(page, second.label, inside->second_waiting);
    write_layers(page, first.label, second.label, inside->layers);
  }
  write_differences(page, fmt::format("What else differs ({} | {}):", first.label, second.label),
                    comparison.differences);
}

}  // namespace

void write_compare_text(TextPage& page, const Compared& compared) {
  for (const ComparedGroup& group : compared.groups) {
    page.heading(fmt::format("{}: {} against {}", group.benchmark,
                             group.sides.size() == 2 ? group.sides.back().label : "all",
                             group.sides.front().label),
                 {});
    write_sides(page, group);
    for (std::size_t i = 0; i < group.comparisons.size(); ++i) {
      write_comparison(page, group.sides.front(), group.sides[i + 1], group.comparisons[i]);
    }
  }
  if (!compared.left_out.empty()) {
    page.heading("Left out", {});
    for (const std::string& text : compared.left_out) page.item(text);
  }
  page.write_definitions();
}

}  // namespace analysis::report
