// The report as one HTML file.
#include "analysis/report/html/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/definitions.h"
#include "analysis/fields.h"
#include "analysis/findings/report.h"
#include "analysis/findings/round_rows.h"
#include "analysis/numbers.h"
#include "analysis/report/html/assets.h"
#include "analysis/report/html/charts.h"
#include "analysis/report/html/element.h"
#include "analysis/report/html/ranks.h"
#include "analysis/report/html/staging.h"
#include "analysis/report/html/systems.h"
#include "analysis/report/html/waiting.h"
#include "analysis/run_fields.h"
#include "analysis/staged_fields.h"
#include "analysis/system_fields.h"
#include "runner/mllog/keys.h"

namespace analysis::report {
namespace {

using Kind = HtmlTable::Kind;

/// Runs whose figures are all listed; with more, the page would be too large to open.
constexpr std::size_t kDetailedRuns = 40;

/// Hidden until the script, which does the filtering, shows it.
constexpr char kFilter[] =
    "<div class=\"filter\" role=\"search\" hidden><label for=\"filter\">Show only logs and systems "
    "whose name contains</label> <input id=\"filter\" type=\"search\"> <span id=\"filtered\" "
    "class=\"quiet\" role=\"status\"></span></div>\n";

std::string outcome_class(Outcome outcome) {
  return outcome == Outcome::kSuccess ? "success" : "failed";
}

std::string card(const std::string& label, const std::string& value,
                 const std::string& definition) {
  return fmt::format("<dl class=\"card\"><dt><abbr title=\"{}\">{}</abbr></dt><dd>{}</dd></dl>\n",
                     html_text(definition), html_text(label), html_text(value));
}

/// The most important figures of a single run.
std::string cards(const RunReport& run) {
  const RunFacts& facts = run.facts;
  std::string html = "<div class=\"cards\">\n";
  html += card("outcome", to_string(facts.outcome), definition_of("outcome"));
  html += card("time to train", duration_text(facts.ttt_s), definition_of("ttt_s"));
  if (facts.parts.staging_s) {
    html += card("without staging", duration_text(facts.ttt_excluding_staging_s()),
                 definition_of("ttt_excluding_staging_s"));
    html += card("with all staging", duration_text(facts.ttt_including_staging_s()),
                 definition_of("ttt_including_staging_s"));
  }
  html += card("best " + facts.metric_name(), quality_text(facts.best_quality),
               definition_of("best_quality"));
  html += card("target", facts.target ? facts.target->words() : "-", definition_of("target_rule"));
  if (facts.counts_epochs()) {
    html += card("epochs to target", short_number(facts.progress.epochs_to_target),
                 definition_of("epochs_to_target"));
  } else {
    html += card("samples to target", short_number(facts.progress.samples_to_target),
                 definition_of("samples_to_target"));
  }
  html += card("training samples/s", short_number(facts.train_throughput),
               definition_of("train_throughput"));
  return html + "</div>\n";
}

/// Summary of several logs: counts, and the fastest system of each benchmark.
std::string cards(const Report& report) {
  const auto successful =
      std::count_if(report.runs.begin(), report.runs.end(),
                    [](const auto& run) { return run.facts.outcome == Outcome::kSuccess; });
  std::map<std::string, const SystemReport*> fastest;
  for (const SystemReport& system : report.systems) {
    if (!system.facts.olympic_mean_s) continue;
    const SystemReport*& best = fastest[system.facts.benchmark];
    if (!best || *system.facts.olympic_mean_s < *best->facts.olympic_mean_s) best = &system;
  }
  std::string html = "<div class=\"cards\">\n";
  html += card("logs", std::to_string(report.runs.size()), "logs that were read");
  html += card("successful", std::to_string(successful), definition_of("successful"));
  html += card("sets of runs", std::to_string(report.systems.size()), "folders with runs of a set");
  for (const auto& [benchmark, system] : fastest) {
    html +=
        card("fastest in " + benchmark,
             fmt::format("{}, {}", duration_text(system->facts.olympic_mean_s), label_of(*system)),
             definition_of("olympic_mean_s"));
  }
  return html + "</div>\n";
}

std::string section(const std::string& title, const FigureTable& table) {
  const std::string more =
      table.left_out() > 0
          ? fmt::format("<p>{} more rows, which JSON and CSV have.</p>\n", table.left_out())
          : "";
  return fmt::format("<section><h2>{}</h2>\n{}{}</section>\n", title, table.str(), more);
}

std::string run_table(const Report& report) {
  FigureTable table("Each log; rest the pointer on a heading for its definition");
  table.column("log", Kind::kText);
  table.column("benchmark", Kind::kText, definition_of(mllog::keys::kSubmissionBenchmark));
  table.column("outcome", Kind::kText, definition_of("outcome"));
  table.column("time to train s", Kind::kNumber, definition_of("ttt_s"));
  table.column("without staging s", Kind::kNumber, definition_of("ttt_excluding_staging_s"));
  table.column("staging s", Kind::kNumber, definition_of("staging_s"));
  table.column("epochs", Kind::kNumber, definition_of("epochs_to_target"));
  const bool has_samples = std::ranges::any_of(
      report.runs, [](const RunReport& run) { return !run.facts.counts_epochs(); });
  if (has_samples) {
    table.column("samples", Kind::kNumber, definition_of("samples_to_target"));
  }
  table.column("final quality", Kind::kNumber, definition_of("final_quality"));
  table.column("target", Kind::kNumber, definition_of("target"));
  table.column("training samples/s", Kind::kNumber, definition_of("train_throughput"));
  for (const RunReport& run : report.runs) {
    const RunFacts& facts = run.facts;
    if (!table.row()) continue;
    table.cell(run.name);
    table.cell(facts.config_text(mllog::keys::kSubmissionBenchmark));
    table.cell(to_string(facts.outcome), outcome_class(facts.outcome));
    table.cell(facts.ttt_s ? fmt::format("{:.3f}", *facts.ttt_s) : "-");
    table.cell(short_number(facts.ttt_excluding_staging_s()));
    table.cell(short_number(facts.parts.staging_s));
    table.cell(short_number(facts.progress.epochs_to_target));
    if (has_samples) table.cell(short_number(facts.progress.samples_to_target));
    table.cell(quality_text(facts.final_quality));
    table.cell(facts.target_value() ? fmt::format("{}", *facts.target_value()) : "-");
    table.cell(short_number(facts.train_throughput));
  }
  return section("Runs", table);
}

/// The sets of runs, a row each, the best score of each benchmark first.
std::string system_table(const Report& report) {
  if (report.systems.empty() || report.runs.size() < 2) return "";
  HtmlTable table("Rest the pointer on a heading for its definition; click it to sort");
  table.column("system", Kind::kText);
  table.column("submitter", Kind::kText, "of the system's description, else of the path");
  table.column("benchmark", Kind::kText, definition_of(mllog::keys::kSubmissionBenchmark));
  std::vector<RoundColumn> columns = columns_of_round(report);
  columns.push_back({"mean time to train s", "ttt_mean_s",
                     [](const SystemFacts& facts) { return short_number(facts.ttt_mean_s); }});
  columns.push_back({"standard deviation s", "ttt_stdev_s",
                     [](const SystemFacts& facts) { return short_number(facts.ttt_stdev_s); }});
  for (const RoundColumn& column : columns) {
    table.column(column.heading, Kind::kNumber, definition_of(column.figure));
  }
  for (const auto& [benchmark, rows] : rows_of_round(report)) {
    for (const RoundRow& row : rows) {
      table.row();
      table.cell(row.name);
      table.cell(row.submitter);
      table.cell(benchmark);
      for (const RoundColumn& column : columns) table.cell(column.text(row.system->facts));
    }
  }
  return "<section><h2>Systems</h2>\n" + table.str() + "</section>\n";
}

/// Definitions are for a single run; repeated for many runs they would fill the page.
std::string figures(const RunReport& run, bool with_definitions) {
  HtmlTable table("Figures of " + run.name);
  table.column("figure", Kind::kText);
  table.column("value", Kind::kText);
  table.column("unit", Kind::kText);
  if (with_definitions) table.column("definition", Kind::kText);
  for (const Field<RunFacts>& field : run_fields()) {
    const std::string text = to_text(field.get(run.facts));
    if (text.empty()) continue;
    table.row();
    table.cell(field.name);
    table.cell(text);
    table.cell(field.unit);
    if (with_definitions) table.cell(field.definition);
  }
  return table.str();
}

std::string quantities(const RunTelemetry& telemetry) {
  if (telemetry.quantities.empty()) return "";
  HtmlTable table("Other quantities of the ranks");
  table.column("quantity", Kind::kText);
  for (const char* heading : {"min", "mean", "max", "all ranks"}) {
    table.column(heading, Kind::kNumber);
  }
  table.column("definition", Kind::kText);
  for (const Quantity& quantity : telemetry.quantities) {
    table.row();
    table.cell(quantity.name);
    for (const double value : {quantity.min, quantity.mean, quantity.max}) {
      table.cell(short_number(value));
    }
    table.cell(short_number(quantity.sum));
    table.cell(quantity.definition);
  }
  return table.str();
}

std::string provenance(const RunTelemetry& telemetry) {
  if (telemetry.provenance.empty()) return "";
  HtmlTable table("Provenance: machine, libraries and settings that these figures come from");
  table.column("what", Kind::kText);
  table.column("value", Kind::kText);
  for (const auto& [path, value] : telemetry.provenance) {
    table.row();
    table.cell(path);
    table.cell(value);
  }
  return table.str();
}

std::string details(const Report& report) {
  std::string html = "<section><h2>All figures</h2>\n";
  const std::size_t shown = std::min(report.runs.size(), kDetailedRuns);
  for (std::size_t i = 0; i < shown; ++i) {
    const RunReport& run = report.runs[i];
    html +=
        fmt::format("<details{}><summary>{}</summary>\n{}", report.runs.size() == 1 ? " open" : "",
                    html_text(run.name), figures(run, report.runs.size() == 1));
    if (run.telemetry) html += quantities(*run.telemetry) + provenance(*run.telemetry);
    html += "</details>\n";
  }
  if (shown < report.runs.size()) {
    html += fmt::format("<p>{} more runs; their figures are in the JSON and the CSV.</p>\n",
                        report.runs.size() - shown);
  }
  return html + "</section>\n";
}

void add_findings(FigureTable& table, const std::string& name,
                  const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (!table.row()) continue;
    table.cell(name);
    table.cell(to_string(finding.severity));
    table.cell(finding.line > 0 ? std::to_string(finding.line) : "");
    table.cell(finding.column > 0 ? std::to_string(finding.column) : "");
    table.cell(finding.text);
    table.cell(finding.rule);
  }
}

std::string findings(const Report& report) {
  FigureTable table("What the logs' readers should know");
  table.column("where", Kind::kText);
  table.column("severity", Kind::kText);
  table.column("line", Kind::kNumber);
  table.column("column", Kind::kNumber);
  table.column("finding", Kind::kText);
  table.column("rule", Kind::kText);
  for (const Problem& problem : report.problems) {
    add_findings(table, problem.path, {{Finding::Severity::kError, 0, 0, problem.text, {}}});
  }
  for (const RunReport& run : report.runs) add_findings(table, run.name, run.findings);
  for (const SystemReport& one : report.systems) add_findings(table, one.name, one.findings);
  if (table.rows() == 0) return "";
  return section("Findings", table);
}

std::string definitions_section() {
  std::string html =
      "<section><h2>Definitions</h2>\n<details><summary>Every figure and convention</summary>"
      "<dl class=\"definitions\">\n";
  const auto define = [&](const std::string& name, const std::string& text) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_text(name), html_text(text));
  };
  for (const auto& [name, text] : conventions()) define(name, text);
  for (const Field<RunFacts>& field : run_fields()) define(field.name, field.definition);
  for (const Field<SystemFacts>& field : system_fields()) define(field.name, field.definition);
  for (const Field<StagedSet>& field : staged_fields()) {
    define("staged_sets." + field.name, field.definition);
  }
  return html + "</dl></details></section>\n";
}

std::string title(const Report& report) {
  if (report.runs.size() == 1) return report.runs.front().name;
  return fmt::format("{} logs", report.runs.size());
}

}  // namespace

std::string report_html(const Report& report) {
  ChartSections charts;
  add_systems(report, charts);
  const std::string systems = charts.take_html();
  add_convergence(report, charts);
  add_breakdowns(report, charts);
  add_ranks(report, charts);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n"
      "<title>trainmark: {}</title>\n<style>\n",
      html_text(title(report)));
  page += report_style();
  page += fmt::format("</style>\n</head>\n<body>\n<header><h1>{}</h1>\n", html_text(title(report)));
  page += "<p class=\"quiet\">trainmark analyze</p></header>\n<main>\n";
  page +=
      "<noscript><p class=\"nocharts\">Charts need scripts; every chart's figures are in the "
      "table beneath it.</p></noscript>\n";
  if (report.runs.size() == 1) {
    page += cards(report.runs.front());
  } else {
    page += cards(report) + kFilter;
  }
  // With several systems their comparison comes first, else the runs.
  if (report.systems.size() > 1) {
    page += "<div class=\"plots\">\n" + systems + "</div>\n" + system_table(report) +
            charts.take_html() + run_table(report);
  } else {
    page += run_table(report) + system_table(report) + systems + charts.take_html();
  }
  page += staging_section(report) + waiting_section(report);
  page += findings(report);
  page += details(report);
  page += definitions_section();
  page += "</main>\n<script type=\"application/json\" id=\"data\">" + charts.data_script() +
          "</script>\n<script>\n";
  page += chart_library();
  page += "\n</script>\n<script>\n";
  page += report_script();
  return page + "</script>\n</body>\n</html>\n";
}

}  // namespace analysis::report
