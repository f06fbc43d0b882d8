// The charts of the HTML report.
// Hides which runs share a chart.
#include "analysis/report/html_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analysis/fields.h"
#include "analysis/numbers.h"
#include "analysis/report/html.h"
#include "runner/base/printable.h"
#include "runner/mllog/keys.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;
using Runs = std::vector<const RunReport*>;
using Kind = HtmlTable::Kind;

/// Rows of a table that is shown at once; a longer one is folded.
constexpr std::size_t kOpenRows = 40;

/// Runs in one convergence chart must mean the same by quality.
struct ChartKey {
  std::string benchmark, metric;
  std::optional<double> target;
  bool operator<(const ChartKey& other) const {
    return std::tie(benchmark, metric, target) <
           std::tie(other.benchmark, other.metric, other.target);
  }
};

std::map<ChartKey, Runs> convergence_groups(const Report& report) {
  std::map<ChartKey, Runs> groups;
  for (const RunReport& run : report.runs) {
    if (run.facts.evaluations.empty()) continue;
    const ChartKey key{run.facts.config_text(mllog::keys::kSubmissionBenchmark),
                       run.facts.target.metric, run.facts.target.value};
    groups[key].push_back(&run);
  }
  return groups;
}

/// A choice of what an axis shows; options are value and label, the first one checked.
std::string choices(const std::string& id, const std::string& legend,
                    const std::vector<std::pair<const char*, const char*>>& options) {
  std::string html = fmt::format("<fieldset><legend>{}</legend>", legend);
  for (const auto& [value, label] : options) {
    html += fmt::format("<label><input type=\"radio\" name=\"{}-by\" value=\"{}\"{}> {}</label>",
                        id, value, value == options.front().first ? " checked" : "", label);
  }
  return html + "</fieldset>\n";
}

std::string canvas(const std::string& id, const std::string& label) {
  return fmt::format(
      "<div class=\"chart\"><canvas id=\"{}\" role=\"img\" aria-label=\"{}; the table below has "
      "the same figures\"></canvas></div>\n",
      id, html_text(label));
}

std::string folded(const std::string& table, std::size_t rows) {
  return fmt::format("<details class=\"data\"{}><summary>Figures ({} rows)</summary>{}</details>\n",
                     rows <= kOpenRows ? " open" : "", rows, table);
}

Json points_json(const RunFacts& facts) {
  Json points = Json::array();
  for (const Evaluation& one : facts.evaluations) {
    points.push_back({one.epoch_num ? Json(*one.epoch_num) : Json(), one.time_s, one.quality});
  }
  return points;
}

std::string convergence_table(const ChartKey& key, const Runs& runs, std::size_t& rows) {
  HtmlTable table("Evaluations: " + definition_of("convergence"));
  table.column("log", Kind::kText);
  table.column("epoch_num", Kind::kNumber, "as logged");
  table.column("time s", Kind::kNumber, "seconds since run_start");
  table.column(key.metric, Kind::kNumber, definition_of("metric"));
  table.column("target", Kind::kText, definition_of("target"));
  for (const RunReport* run : runs) {
    for (std::size_t i = 0; i < run->facts.evaluations.size(); ++i) {
      const Evaluation& one = run->facts.evaluations[i];
      table.row();
      table.cell(run->name);
      table.cell(short_number(one.epoch_num));
      table.cell(fmt::format("{:.1f}", one.time_s));
      table.cell(quality_text(one.quality));
      table.cell(run->facts.at_target == i ? "reached" : "");
      ++rows;
    }
  }
  return table.str();
}

void add_convergence(const ChartKey& key, const Runs& runs, std::size_t number, Json& data,
                     std::string& html) {
  const std::string id = fmt::format("convergence{}", number);
  Json series = Json::array();
  for (const RunReport* run : runs) {
    series.push_back({{"name", base::printable(run->name)}, {"points", points_json(run->facts)}});
  }
  data.push_back({{"id", id},
                  {"metric", base::printable(key.metric)},
                  {"target", key.target ? Json(*key.target) : Json()},
                  {"series", series}});
  const std::string title =
      "Convergence: " + (key.benchmark.empty() ? "" : key.benchmark + ", ") + key.metric;
  std::size_t rows = 0;
  const std::string table = convergence_table(key, runs, rows);
  html += fmt::format("<section><h2>{}</h2>\n", html_text(title));
  html += choices(id, "against", {{"epoch", "epoch"}, {"time", "time"}});
  html += canvas(id, title);
  html += folded(table, rows) + "</section>\n";
}

/// The parts that any of the runs has, each once, in order.
std::vector<const Part*> all_parts(const Runs& runs) {
  std::vector<const Part*> heads;
  for (const RunReport* run : runs) {
    for (const Part& part : run->best_breakdown()->parts) {
      const auto same = [&](const Part* head) { return head->name == part.name; };
      if (std::none_of(heads.begin(), heads.end(), same)) heads.push_back(&part);
    }
  }
  return heads;
}

const Part* part_named(const RunReport& run, const std::string& name) {
  for (const Part& part : run.best_breakdown()->parts) {
    if (part.name == name) return &part;
  }
  return nullptr;
}

Json breakdown_json(const std::string& id, const Runs& runs) {
  Json labels = Json::array();
  for (const RunReport* run : runs) labels.push_back(base::printable(run->name));
  Json parts = Json::array();
  for (const Part* head : all_parts(runs)) {
    Json seconds = Json::array();
    Json percents = Json::array();
    for (const RunReport* run : runs) {
      const Part* part = part_named(*run, head->name);
      seconds.push_back(part ? part->mean_s : 0.0);
      percents.push_back(part ? part->percent.value_or(0.0) : 0.0);
    }
    parts.push_back(
        {{"name", base::printable(head->name)}, {"seconds", seconds}, {"percent", percents}});
  }
  return {{"id", id}, {"labels", labels}, {"parts", parts}};
}

std::string breakdown_table(const Runs& runs, bool with_telemetry, std::size_t& rows) {
  HtmlTable table(with_telemetry ? definition_of("subsystems") : definition_of("parts"));
  table.column("log", Kind::kText);
  table.column("part", Kind::kText);
  table.column("mean s", Kind::kNumber, "mean over the ranks");
  if (with_telemetry) {
    table.column("min s", Kind::kNumber, "smallest of the ranks");
    table.column("max s", Kind::kNumber, "largest of the ranks");
  }
  table.column("%", Kind::kNumber, "mean s of the mean wall time");
  table.column("definition", Kind::kText);
  for (const RunReport* run : runs) {
    for (const Part& part : run->best_breakdown()->parts) {
      table.row();
      table.cell(run->name);
      table.cell(part.name);
      table.cell(fmt::format("{:.3f}", part.mean_s));
      if (with_telemetry) {
        table.cell(fmt::format("{:.3f}", part.min_s));
        table.cell(fmt::format("{:.3f}", part.max_s));
      }
      table.cell(percent_text(part.percent));
      table.cell(part.definition);
      ++rows;
    }
  }
  return table.str();
}

void add_breakdown(const Report& report, bool with_telemetry, Json& data, std::string& html) {
  Runs runs;
  for (const RunReport& run : report.runs) {
    const bool fits = run.telemetry.has_value() == with_telemetry && run.best_breakdown();
    if (fits) runs.push_back(&run);
  }
  if (runs.empty()) return;
  const std::string id = with_telemetry ? "subsystems" : "parts";
  const std::string title = with_telemetry ? "Where the time went: subsystems of the ranks"
                                           : "Where the time went, by the logs' records";
  data.push_back(breakdown_json(id, runs));
  std::size_t rows = 0;
  const std::string table = breakdown_table(runs, with_telemetry, rows);
  html += fmt::format("<section><h2>{}</h2>\n", title);
  html += choices(id, "in", {{"percent", "percent"}, {"seconds", "seconds"}});
  html += canvas(id, title);
  html += folded(table, rows) + "</section>\n";
}

}  // namespace

HtmlCharts html_charts(const Report& report) {
  HtmlCharts charts;
  Json convergence = Json::array();
  for (const auto& [key, runs] : convergence_groups(report)) {
    add_convergence(key, runs, convergence.size(), convergence, charts.sections);
  }
  Json breakdown = Json::array();
  add_breakdown(report, true, breakdown, charts.sections);
  add_breakdown(report, false, breakdown, charts.sections);
  const Json data = {{"convergence", convergence}, {"breakdown", breakdown}};
  charts.data_script = json_in_script(data.dump(-1, ' ', true, Json::error_handler_t::replace));
  return charts;
}

}  // namespace analysis::report
