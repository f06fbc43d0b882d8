// The convergence and breakdown charts of the HTML report.
#include "analysis/report/html/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "analysis/definitions.h"
#include "analysis/numbers.h"
#include "runner/base/printable.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;
using Runs = std::vector<const RunReport*>;
using Kind = HtmlTable::Kind;

/// With more than kMostRunBars runs, each bar is the mean of a folder. Bars beyond kMostBars are
/// left out.
constexpr std::size_t kMostRunBars = 60, kMostBars = 200;
/// Most evaluations drawn over all runs, but kFewestPoints of each run are always drawn.
constexpr std::size_t kMostPoints = 60000, kFewestPoints = 10;

/// Runs share a convergence chart if their qualities and positions mean the same.
struct ChartKey {
  std::string benchmark, metric;
  std::optional<double> target;
  std::string position;  ///< what the horizontal axis counts: "epoch_num", "samples"
  std::string better;    ///< "less is better"; "" if not known
  std::string rule;      ///< ">= 0.759"; "" without a target
  bool operator<(const ChartKey& other) const {
    return std::tie(benchmark, metric, target, position) <
           std::tie(other.benchmark, other.metric, other.target, other.position);
  }
};

/// One quality of a run's evaluations: the one that a part of its target compares.
struct Curve {
  const RunReport* run;
  std::size_t part;

  double quality(const Evaluation& one) const {
    return one.parts.empty() ? one.quality : one.parts[part];
  }
};
using Curves = std::vector<Curve>;

std::string position_of(const RunFacts& facts) {
  const bool counts_epochs =
      !facts.position_unit || *facts.position_unit == mllog::PositionUnit::kEpochs;
  return counts_epochs ? facts.position_key : facts.position_unit_text();
}

ChartKey key_of(const RunFacts& facts, const mllog::TargetPart* part) {
  ChartKey key;
  key.benchmark = facts.config_text(mllog::keys::kSubmissionBenchmark);
  key.metric = facts.metric;
  key.position = position_of(facts);
  if (part == nullptr) return key;
  if (!part->name().empty()) key.metric += " " + part->name();
  key.target = part->value;
  const bool falls = part->direction == mllog::Direction::kFalls;
  key.better = falls ? "less is better" : "more is better";
  key.rule = part->words();
  return key;
}

std::map<ChartKey, Curves> convergence_groups(const Report& report) {
  std::map<ChartKey, Curves> groups;
  for (const RunReport& run : report.runs) {
    const RunFacts& facts = run.facts;
    if (facts.evaluations.empty()) continue;
    if (!facts.target) groups[key_of(facts, nullptr)].push_back({&run, 0});
    for (std::size_t i = 0; facts.target && i < facts.target->parts.size(); ++i) {
      groups[key_of(facts, &facts.target->parts[i])].push_back({&run, i});
    }
  }
  return groups;
}

/// Indices of the evaluations to draw: all, or `most` evenly spaced ones, which include the first
/// and the last, and the first at the target.
std::vector<std::size_t> drawn_points(const RunFacts& facts, std::size_t most) {
  const std::size_t all = facts.evaluations.size();
  std::set<std::size_t> chosen;
  if (all <= most) {
    for (std::size_t i = 0; i < all; ++i) chosen.insert(i);
  } else {
    for (std::size_t i = 0; i < most; ++i) chosen.insert(i * (all - 1) / (most - 1));
    if (facts.at_target) chosen.insert(*facts.at_target);
  }
  return {chosen.begin(), chosen.end()};
}

Json points_json(const Curve& curve, std::size_t most) {
  Json points = Json::array();
  for (const std::size_t index : drawn_points(curve.run->facts, most)) {
    const Evaluation& one = curve.run->facts.evaluations[index];
    points.push_back({charted(one.position), charted(one.time_s), charted(curve.quality(one))});
  }
  return points;
}

/// Points to draw per run, limited so that a page of many long runs still opens.
std::size_t points_of_each(const Report& report) {
  std::size_t points = 0;
  for (const RunReport& run : report.runs) points += run.facts.evaluations.size();
  if (points <= kMostPoints) return kMostPoints;
  return std::max(kFewestPoints, kMostPoints / report.runs.size());
}

FigureTable convergence_table(const ChartKey& key, const Curves& curves) {
  FigureTable table("Evaluations: " + definition_of("convergence"));
  table.column("log", Kind::kText);
  table.column(key.position, Kind::kNumber, definition_of("position_unit"));
  table.column("time s", Kind::kNumber, "seconds since run_start");
  table.column(key.metric, Kind::kNumber, definition_of("metric"));
  table.column("target", Kind::kText, definition_of("target"));
  for (const Curve& curve : curves) {
    const RunFacts& facts = curve.run->facts;
    for (std::size_t i = 0; i < facts.evaluations.size(); ++i) {
      if (!table.row()) continue;
      const Evaluation& one = facts.evaluations[i];
      table.cell(curve.run->name);
      table.cell(short_number(one.position));
      table.cell(fmt::format("{:.1f}", one.time_s));
      table.cell(quality_text(curve.quality(one)));
      table.cell(facts.at_target == i ? "reached" : "");
    }
  }
  return table;
}

/// A stacked bar: one run, or the means of a folder's runs.
struct Bar {
  std::string name;
  double wall_s = 0.0;
  std::vector<Part> parts;
};

Bar bar_of(const std::string& name, const Runs& runs) {
  Bar bar;
  bar.name = name;
  const auto n = static_cast<double>(runs.size());
  for (const RunReport* run : runs) {
    bar.wall_s += run->best_breakdown()->wall_s / n;
    for (const Part& part : run->best_breakdown()->parts) {
      auto at = std::find_if(bar.parts.begin(), bar.parts.end(),
                             [&](const Part& one) { return one.name == part.name; });
      if (at == bar.parts.end()) {
        at = bar.parts.insert(at, {part.name, part.definition, 0.0, 0.0, 0.0, {}, {}, {}});
      }
      at->min_s += part.min_s / n;
      at->mean_s += part.mean_s / n;
      at->max_s += part.max_s / n;
    }
  }
  for (Part& part : bar.parts) {
    if (bar.wall_s > 0.0) part.percent = base::kPercent * part.mean_s / bar.wall_s;
  }
  return bar;
}

std::vector<Bar> bars_of(const Runs& runs, bool by_folder) {
  std::vector<std::pair<std::string, Runs>> groups;
  for (const RunReport* run : runs) {
    const std::string& name = by_folder ? run->folder : run->name;
    const auto same = [&](const auto& group) { return group.first == name; };
    auto at = std::find_if(groups.begin(), groups.end(), same);
    if (at == groups.end()) at = groups.insert(at, {name, {}});
    at->second.push_back(run);
  }
  std::vector<Bar> bars;
  for (const auto& [name, members] : groups) bars.push_back(bar_of(name, members));
  return bars;
}

/// The parts of all bars, each once, in order of first appearance.
std::vector<const Part*> all_parts(const std::vector<Bar>& bars) {
  std::vector<const Part*> heads;
  for (const Bar& bar : bars) {
    for (const Part& part : bar.parts) {
      const auto same = [&](const Part* head) { return head->name == part.name; };
      if (std::none_of(heads.begin(), heads.end(), same)) heads.push_back(&part);
    }
  }
  return heads;
}

Json breakdown_json(const std::string& id, const std::vector<Bar>& bars) {
  Json labels = Json::array(), parts = Json::array();
  for (const Bar& bar : bars) labels.push_back(base::printable(bar.name));
  for (const Part* head : all_parts(bars)) {
    Json seconds = Json::array(), percents = Json::array();
    for (const Bar& bar : bars) {
      const auto part = std::find_if(bar.parts.begin(), bar.parts.end(),
                                     [&](const Part& one) { return one.name == head->name; });
      const bool has = part != bar.parts.end();
      seconds.push_back(charted(has ? part->mean_s : 0.0));
      percents.push_back(charted(has ? part->percent.value_or(0.0) : 0.0));
    }
    parts.push_back(
        {{"name", base::printable(head->name)}, {"seconds", seconds}, {"percent", percents}});
  }
  return {{"id", id}, {"kind", "breakdown"}, {"labels", labels}, {"parts", parts}};
}

FigureTable breakdown_table(const std::vector<Bar>& bars, bool with_telemetry, bool by_folder) {
  FigureTable table(with_telemetry ? definition_of("subsystems") : definition_of("parts"));
  table.column(by_folder ? "folder" : "log", Kind::kText);
  table.column("part", Kind::kText);
  table.column("mean s", Kind::kNumber, "mean over the ranks");
  if (with_telemetry) {
    table.column("min s", Kind::kNumber, "smallest of the ranks");
    table.column("max s", Kind::kNumber, "largest of the ranks");
  }
  table.column("%", Kind::kNumber, "mean s of the mean wall time");
  for (const Bar& bar : bars) {
    for (const Part& part : bar.parts) {
      if (!table.row()) continue;
      table.cell(bar.name);
      table.cell(part.name);
      table.cell(fmt::format("{:.3f}", part.mean_s));
      if (with_telemetry) {
        table.cell(fmt::format("{:.3f}", part.min_s));
        table.cell(fmt::format("{:.3f}", part.max_s));
      }
      table.cell(percent_text(part.percent));
    }
  }
  return table;
}

std::string part_definitions(const std::vector<Bar>& bars) {
  std::string text;
  for (const Part* part : all_parts(bars)) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", part->name, part->definition);
  }
  return text;
}

void add_breakdown(const Report& report, bool with_telemetry, ChartSections& sections) {
  Runs runs;
  for (const RunReport& run : report.runs) {
    const bool fits = run.telemetry.has_value() == with_telemetry && run.best_breakdown();
    if (fits) runs.push_back(&run);
  }
  if (runs.empty()) return;
  const bool by_folder = runs.size() > kMostRunBars;
  std::vector<Bar> bars = bars_of(runs, by_folder);
  std::string title = with_telemetry ? "Where the time went: subsystems of the ranks"
                                     : "Where the time went, by the logs' records";
  if (by_folder) title += ", means over the runs of each folder";
  if (bars.size() > kMostBars) {
    title += fmt::format(" (the first {} of {})", kMostBars, bars.size());
    bars.erase(bars.begin() + kMostBars, bars.end());
  }
  sections.add(title, part_definitions(bars),
               breakdown_json(with_telemetry ? "subsystems" : "parts", bars), "in",
               {{"percent", "percent"}, {"seconds", "seconds"}},
               breakdown_table(bars, with_telemetry, by_folder));
}

}  // namespace

void add_convergence(const Report& report, ChartSections& sections) {
  int number = 0;
  const std::size_t most = points_of_each(report);
  for (const auto& [key, curves] : convergence_groups(report)) {
    Json series = Json::array();
    for (const Curve& curve : curves) {
      series.push_back(
          {{"name", base::printable(curve.run->name)}, {"points", points_json(curve, most)}});
    }
    const Json chart = {{"id", fmt::format("convergence{}", number++)},
                        {"kind", "convergence"},
                        {"metric", base::printable(key.metric)},
                        {"position", base::printable(key.position)},
                        {"better", key.better},
                        {"target", charted(key.target)},
                        {"series", series}};
    const std::string title =
        "Convergence: " + (key.benchmark.empty() ? "" : key.benchmark + ", ") + key.metric +
        (key.better.empty() ? "" : ", " + key.better);
    std::string note;
    if (!key.rule.empty()) note = fmt::format("The dashed line is the target, {}.", key.rule);
    if (most != kMostPoints) {
      note += fmt::format(
          "{}At most {} evaluations of each run are drawn, evenly, with the first, the last and "
          "the first at the target.",
          note.empty() ? "" : " ", most + 1);
    }
    const std::string by = key.position == mllog::keys::kEpochNum ? "epoch" : key.position;
    sections.add(title, note, chart, "against", {{"epoch", by.c_str()}, {"time", "time"}},
                 convergence_table(key, curves));
  }
}

void add_breakdowns(const Report& report, ChartSections& sections) {
  add_breakdown(report, true, sections);
  add_breakdown(report, false, sections);
}

}  // namespace analysis::report
