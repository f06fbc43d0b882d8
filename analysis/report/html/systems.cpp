// Charts that compare systems.
#include "analysis/report/html/systems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/definitions.h"
#include "analysis/fields.h"
#include "analysis/findings/report.h"
#include "analysis/numbers.h"
#include "analysis/system_fields.h"
#include "runner/base/printable.h"
#include "runner/base/units.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;
using Systems = std::vector<const SystemReport*>;
using Kind = HtmlTable::Kind;

/// Most rows of the chart of spreads.
constexpr std::size_t kMostSpreads = 60;
/// Kinds of hardware with a colour each; the others share one.
constexpr std::size_t kMostKinds = 9;

Json axis(const char* title, bool logarithmic) {
  return {{"title", title}, {"logarithmic", logarithmic}};
}

/// Points of systems, grouped by kind_of(system).
template <class KindOf, class PointOf>
Json groups_of(const Systems& systems, const KindOf& kind_of, const PointOf& point_of) {
  std::vector<std::pair<std::string, Json>> groups;
  for (const SystemReport* system : systems) {
    std::string kind = kind_of(*system);
    const auto same = [&](const auto& group) { return group.first == kind; };
    auto at = std::find_if(groups.begin(), groups.end(), same);
    if (at == groups.end() && groups.size() >= kMostKinds) {
      kind = "others";
      at = std::find_if(groups.begin(), groups.end(), same);
    }
    if (at == groups.end()) at = groups.insert(at, {kind, Json::array()});
    at->second.push_back(point_of(*system));
  }
  Json all = Json::array();
  for (auto& [name, points] : groups) {
    all.push_back({{"name", base::printable(name)}, {"points", std::move(points)}});
  }
  return all;
}

/// {x, y, name, standard deviation of y}.
Json point(double x, double y, const SystemReport& system, const std::optional<double>& deviation) {
  return {charted(x), charted(y), base::printable(label_of(system)), charted(deviation)};
}

/// A line of equal unit hours per decade, over the range of the systems' units and budgets.
Json budget_lines(const Systems& systems) {
  double few = INFINITY, many = 0.0, least = INFINITY, most = 0.0;
  for (const SystemReport* system : systems) {
    const double units = *system->facts.compute_units;
    const double hours = units * *system->facts.olympic_mean_s / 3600.0;
    few = std::min(few, units);
    many = std::max(many, units);
    least = std::min(least, hours);
    most = std::max(most, hours);
  }
  Json lines = Json::array();
  const int first = static_cast<int>(std::floor(std::log10(least)));
  const int last = static_cast<int>(std::ceil(std::log10(most)));
  for (int decade = first; decade <= last; ++decade) {
    const double hours = std::pow(10.0, decade);
    lines.push_back({{"name", fmt::format("{:g} unit hours", hours)},
                     {"points",
                      {{charted(few), charted(hours * base::kMinute / few)},
                       {charted(many), charted(hours * base::kMinute / many)}}}});
  }
  return lines;
}

FigureTable joint_table(const Systems& systems) {
  struct Column {
    const char* heading;
    const char* name;
    double factor;
  };
  constexpr Column kColumns[] = {{"units", "compute_units", 1.0},
                                 {"batch", "global_batch_size", 1.0},
                                 {"TTT min", "olympic_mean_s", 1.0 / base::kMinute},
                                 {"+- min", "olympic_stdev_s", 1.0 / base::kMinute},
                                 {"epochs", "olympic_epochs_run", 1.0},
                                 {"s/epoch", "olympic_mean_epoch_s", 1.0},
                                 {"samples/s/unit", "epoch_throughput_per_unit", 1.0},
                                 {"staging %", "staging_fraction", 100.0},
                                 {"eval %", "eval_fraction", 100.0},
                                 {"unit hours", "compute_unit_hours", 1.0},
                                 {"efficiency %", "scaling_efficiency", 100.0}};
  FigureTable table("Means over the runs that the score counts");
  table.column("system", Kind::kText);
  table.column("division", Kind::kText, definition_of("division"));
  table.column("hardware", Kind::kLongText, definition_of("hardware"));
  for (const Column& column : kColumns) {
    table.column(column.heading, Kind::kNumber, definition_of(column.name));
  }
  const bool discloses = std::ranges::any_of(
      systems, [](const SystemReport* one) { return one->facts.disclosed.is_told(); });
  const bool is_lossy = std::ranges::any_of(
      systems, [](const SystemReport* one) { return !one->facts.disclosed.gradients.empty(); });
  if (discloses) {
    table.column("precision", Kind::kText, definition_of("precision"));
    if (is_lossy) table.column("gradients", Kind::kText, definition_of("gradients_sent"));
    table.column("parallelism", Kind::kText, definition_of("parallelism"));
    table.column("micro batch", Kind::kNumber, definition_of("micro_batch_size"));
  }
  for (const SystemReport* system : systems) {
    if (!table.row()) continue;
    table.cell(label_of(*system));
    table.cell(system->facts.description.division);
    table.cell(system->facts.hardware());
    for (const Column& column : kColumns) {
      const auto value = number(find_field(system_fields(), column.name)->get(system->facts));
      table.cell(value ? short_number(*value * column.factor) : "-");
    }
    if (!discloses) continue;
    const Disclosure& disclosed = system->facts.disclosed;
    std::vector<std::string> texts = {disclosed.precision};
    if (is_lossy) texts.push_back(disclosed.gradients);
    texts.insert(texts.end(), {disclosed.parallelism, to_text(disclosed.micro_batch_size)});
    for (const std::string& text : texts) table.cell(text.empty() ? "-" : text);
  }
  return table;
}

std::string or_unknown(const std::string& text) { return text.empty() ? "not described" : text; }

/// Why systems have more throughput per unit than the smallest, as sentences after the first one.
std::string causes_above_one(const Systems& systems) {
  std::string causes;
  for (const SystemReport* system : systems) {
    if (!system->facts.scaling) continue;
    const auto smallest = std::ranges::find(systems, system->facts.scaling->base,
                                            [](const SystemReport* one) { return one->name; });
    if (smallest == systems.end()) continue;
    const std::string cause = cause_above_one(system->facts, (*smallest)->facts);
    if (!cause.empty()) causes += fmt::format(" {}: efficiency {}.", label_of(*system), cause);
  }
  return causes;
}

void add_scale(const std::string& benchmark, int number, const Systems& all,
               ChartSections& sections) {
  Systems systems;
  for (const SystemReport* system : all) {
    const double units = system->facts.compute_units.value_or(0.0);
    if (std::isfinite(units) && units > 0.0) systems.push_back(system);
  }
  if (systems.size() < 2) return;
  const Json groups = groups_of(
      systems, [](const SystemReport& one) { return or_unknown(one.facts.hardware()); },
      [](const SystemReport& one) {
        const auto deviation = one.facts.olympic_stdev_s;
        return point(*one.facts.compute_units, *one.facts.olympic_mean_s / base::kMinute, one,
                     deviation ? std::optional(*deviation / base::kMinute) : std::nullopt);
      });
  const Json chart = {{"id", fmt::format("scale{}", number)},
                      {"kind", "points"},
                      {"x", axis("compute units", true)},
                      {"y", axis("time to train, min", true)},
                      {"groups", groups},
                      {"lines", budget_lines(systems)}};
  sections.add(fmt::format("Time to train against scale: {}", benchmark),
               "Bars are standard deviations; on a dashed line the budget is the same." +
                   causes_above_one(all),
               chart, joint_table(all));
}

void add_batches(const std::string& benchmark, int index, const Systems& all,
                 ChartSections& sections) {
  Systems systems;
  for (const SystemReport* system : all) {
    if (number(system->facts.global_batch_size) && system->facts.olympic.epochs_run) {
      systems.push_back(system);
    }
  }
  if (systems.size() < 2) return;
  const Json groups = groups_of(
      systems, [](const SystemReport& one) { return or_unknown(one.facts.description.division); },
      [](const SystemReport& one) {
        return point(*number(one.facts.global_batch_size), *one.facts.olympic.epochs_run, one,
                     one.facts.olympic_epochs_stdev);
      });
  const Json chart = {{"id", fmt::format("batch{}", index)},
                      {"kind", "points"},
                      {"x", axis("global batch size, samples", true)},
                      {"y", axis("epochs", false)},
                      {"groups", groups},
                      {"lines", Json::array()}};
  FigureTable table("Means over the runs that the score counts");
  table.column("system", Kind::kText);
  table.column("batch", Kind::kNumber, definition_of("global_batch_size"));
  table.column("epochs", Kind::kNumber, definition_of("olympic_epochs_run"));
  table.column("+-", Kind::kNumber, definition_of("olympic_epochs_stdev"));
  for (const SystemReport* system : systems) {
    if (!table.row()) continue;
    table.cell(label_of(*system));
    table.cell(to_text(system->facts.global_batch_size));
    table.cell(short_number(system->facts.olympic.epochs_run));
    table.cell(short_number(system->facts.olympic_epochs_stdev));
  }
  sections.add(fmt::format("Epochs against batch size: {}", benchmark),
               "Bars are standard deviations.", chart, table);
}

struct Spread {
  const SystemReport* system;
  std::vector<const RunReport*> runs;  ///< successful ones
};

/// Sets of at least two successful runs.
std::vector<Spread> spreads_of(const Report& report, const Systems& systems) {
  std::map<std::string, std::vector<const RunReport*>> by_folder;
  for (const RunReport& run : report.runs) {
    if (succeeded(run.facts)) by_folder[run.folder].push_back(&run);
  }
  std::vector<Spread> spreads;
  for (const SystemReport* system : systems) {
    const auto runs = by_folder.find(system->name);
    if (runs != by_folder.end() && runs->second.size() >= 2) {
      spreads.push_back({system, runs->second});
    }
  }
  return spreads;
}

void add_spread(const std::string& benchmark, int number, const std::vector<Spread>& spreads,
                ChartSections& sections) {
  if (spreads.empty()) return;
  Json rows = Json::array();
  FigureTable table("Times to train of the successful runs");
  table.column("log", Kind::kText);
  table.column("TTT min", Kind::kNumber, definition_of("ttt_s"));
  const std::size_t shown = std::min(spreads.size(), kMostSpreads);
  for (std::size_t i = 0; i < shown; ++i) {
    Json values = Json::array();
    for (const RunReport* run : spreads[i].runs) {
      values.push_back({charted(*run->facts.ttt_s / base::kMinute),
                        base::printable(run->path.filename().string())});
      if (!table.row()) continue;
      table.cell(run->name);
      table.cell(short_number(*run->facts.ttt_s / base::kMinute));
    }
    rows.push_back({{"name", base::printable(label_of(*spreads[i].system))}, {"values", values}});
  }
  std::string title = fmt::format("How runs spread: {}", benchmark);
  if (shown < spreads.size()) {
    title += fmt::format(" (the first {} of {} sets)", shown, spreads.size());
  }
  const Json chart = {{"id", fmt::format("spread{}", number)}, {"kind", "spread"}, {"rows", rows}};
  sections.add(title, "Each point is a successful run.", chart, table);
}

}  // namespace

void add_systems(const Report& report, ChartSections& sections) {
  std::map<std::string, Systems> scored, all;
  for (const SystemReport& system : report.systems) {
    all[system.facts.benchmark].push_back(&system);
    if (system.facts.olympic_mean_s) scored[system.facts.benchmark].push_back(&system);
  }
  int number = 0;
  for (const auto& [benchmark, systems] : all) {
    const std::string name = benchmark.empty() ? "benchmark unknown" : benchmark;
    add_scale(name, number, scored[benchmark], sections);
    add_batches(name, number, scored[benchmark], sections);
    add_spread(name, number, spreads_of(report, systems), sections);
    ++number;
  }
}

}  // namespace analysis::report
