// The report as plain text.
// Hides layout: one log in full, several as tables, definitions as footnotes.
#include "analysis/write_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "analysis/numbers.h"
#include "analysis/text_page.h"
#include "analysis/text_table.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;
using Align = TextTable::Align;

/// Evaluations shown of a long run; all of them are in JSON and CSV.
constexpr std::size_t kShownEvaluations = 24;
constexpr std::size_t kShownFindings = 8;
constexpr std::size_t kBarColumns = 20;

std::string described(const RunFacts& facts) {
  std::string text = facts.config_text(keys::kSubmissionBenchmark);
  if (text.empty()) text = "benchmark not named";
  const std::string division = facts.config_text(keys::kSubmissionDivision);
  if (!division.empty()) text += ", " + division + " division";
  const std::string org = facts.config_text(keys::kSubmissionOrg);
  if (!org.empty()) text += ", " + org;
  const std::string platform = facts.config_text(keys::kSubmissionPlatform);
  if (!platform.empty()) text += ", " + platform;
  return text;
}

std::string target_text(const RunFacts& facts) {
  if (!facts.target.value) return "no target known";
  return fmt::format("{} {} {}{}", facts.target.metric,
                     facts.target.direction == Direction::kRises ? ">=" : "<=", *facts.target.value,
                     facts.target.from_log ? " (from the log)" : "");
}

void add_seconds(TextPage& page, const std::string& label, const char* name,
                 const std::optional<double>& seconds) {
  if (!seconds) return;
  page.fact(label, fmt::format("{:.3f} s  ({})", *seconds, duration_text(seconds)), {name});
}

void add_number(TextPage& page, const std::string& label, const char* name,
                const std::optional<double>& value, const std::string& unit = "") {
  if (value) page.fact(label, short_number(value) + (unit.empty() ? "" : " " + unit), {name});
}

void write_times(TextPage& page, const RunReport& run) {
  const RunFacts& facts = run.facts;
  page.fact("outcome", to_string(facts.outcome), {"outcome"});
  if (facts.resumed) page.fact("resumed", "yes: cannot be submitted", {"resumed"});
  page.fact("target", target_text(facts), {"target"});
  add_seconds(page, "time to train", "ttt_s", facts.ttt_s);
  if (facts.parts.staging_s) {
    add_seconds(page, "  without staging", "ttt_excluding_staging_s",
                facts.ttt_excluding_staging_s());
    add_seconds(page, "  with all staging", "ttt_including_staging_s",
                facts.ttt_including_staging_s());
    add_seconds(page, "staging in the run", "staging_in_run_s", facts.parts.staging_in_run_s);
    add_seconds(page, "staging in all", "staging_s", facts.parts.staging_s);
  }
  add_seconds(page, "time to target", "time_to_target_s", facts.time_to_target_s());
  add_seconds(page, "initialisation", "init_s", facts.init_s);
  add_number(page, "epochs to target", "epochs_to_target", facts.progress.epochs_to_target);
  add_number(page, "epochs run", "epochs_run", facts.progress.epochs_run);
  add_number(page, "time of an epoch", "mean_epoch_s", facts.mean_epoch_s(), "s");
  add_number(page, "training rate", "train_throughput", facts.train_throughput, "samples/s");
  add_number(page, "rate of the run", "run_throughput", facts.run_throughput, "samples/s");
  add_number(page, "evaluation rate", "eval_throughput", facts.eval_throughput, "samples/s");
  add_number(page, "rate as logged", "reported_throughput_mean", facts.reported_throughput_mean);
  if (!facts.progress.note.empty()) page.fact("note", facts.progress.note, {"note"});
}

void write_convergence(TextPage& page, const RunFacts& facts) {
  if (facts.evaluations.empty()) return;
  page.heading("Convergence", {"convergence", "evaluations"});
  TextTable table;
  table.add_column("epoch", Align::kRight);
  table.add_column("time s", Align::kRight);
  table.add_column(facts.target.metric, Align::kRight);
  table.add_column("", Align::kLeft);
  const std::size_t all = facts.evaluations.size();
  const std::size_t step = (all + kShownEvaluations - 1) / kShownEvaluations;
  for (std::size_t i = 0; i < all; ++i) {
    const bool hit = facts.at_target == i;
    if (i % step != 0 && i + 1 != all && !hit) continue;
    const Evaluation& one = facts.evaluations[i];
    table.add_row({short_number(one.epoch_num), fmt::format("{:.1f}", one.time_s),
                   quality_text(one.quality), hit ? "target" : ""});
  }
  page.table(table);
  if (step > 1) {
    page.paragraph(fmt::format("Every {}th of {} evaluations; JSON and CSV have all.", step, all));
  }
}

std::string bar(const std::optional<double>& percent) {
  const double part = std::min(std::max(percent.value_or(0.0) / 100.0, 0.0), 1.0);
  return std::string(static_cast<std::size_t>(part * kBarColumns + 0.5), '#');
}

void write_subsystems(TextPage& page, const RunTelemetry& telemetry) {
  page.heading(fmt::format("Where the time went: {} {}, {:.1f} s each", telemetry.ranks,
                           telemetry.ranks == 1 ? "rank" : "ranks", telemetry.subsystems.wall_s),
               {"subsystems"});
  TextTable table;
  table.add_column("subsystem", Align::kLeft);
  for (const char* heading : {"min s", "mean s", "max s", "%"}) {
    table.add_column(heading, Align::kRight);
  }
  table.add_column("", Align::kLeft);
  for (const Part& part : telemetry.subsystems.parts) {
    table.add_row({part.name + page.footnote(part.name, part.definition),
                   fmt::format("{:.3f}", part.min_s), fmt::format("{:.3f}", part.mean_s),
                   fmt::format("{:.3f}", part.max_s), percent_text(part.percent),
                   bar(part.percent)});
  }
  page.table(table);
}

void write_quantities(TextPage& page, const RunTelemetry& telemetry) {
  if (telemetry.quantities.empty()) return;
  page.heading("Other quantities of the ranks", {});
  TextTable table;
  table.add_column("quantity", Align::kLeft);
  for (const char* heading : {"min", "mean", "max", "all ranks"}) {
    table.add_column(heading, Align::kRight);
  }
  for (const Quantity& quantity : telemetry.quantities) {
    table.add_row({quantity.name + page.footnote(quantity.name, quantity.definition),
                   short_number(quantity.min), short_number(quantity.mean),
                   short_number(quantity.max), short_number(quantity.sum)});
  }
  page.table(table);
}

void write_log_parts(TextPage& page, const Breakdown& breakdown) {
  page.heading("Where the time went, by the log's records", {"parts", "intervals"});
  TextTable table;
  table.add_column("part", Align::kLeft);
  table.add_column("s", Align::kRight);
  table.add_column("%", Align::kRight);
  table.add_column("", Align::kLeft);
  for (const Part& part : breakdown.parts) {
    table.add_row({part.name + page.footnote("part " + part.name, part.definition),
                   fmt::format("{:.3f}", part.mean_s), percent_text(part.percent),
                   bar(part.percent)});
  }
  page.table(table);
}

void write_provenance(TextPage& page, const RunTelemetry& telemetry) {
  if (telemetry.provenance.empty()) return;
  page.heading("Provenance", {});
  TextTable table;
  table.add_column("what", Align::kLeft);
  table.add_column("value", Align::kLeft);
  for (const auto& [path, value] : telemetry.provenance) table.add_row({path, value});
  page.table(table);
}

void write_one(TextPage& page, const RunReport& run) {
  page.title(run.name);
  page.paragraph(described(run.facts));
  write_times(page, run);
  write_convergence(page, run.facts);
  if (run.telemetry) {
    write_subsystems(page, *run.telemetry);
    write_quantities(page, *run.telemetry);
  } else if (run.log_parts) {
    write_log_parts(page, *run.log_parts);
  }
  if (run.telemetry) write_provenance(page, *run.telemetry);
}

void write_run_table(TextPage& page, const Report& report) {
  page.heading(fmt::format("{} logs", report.runs.size()), {});
  TextTable table;
  table.add_column("log", Align::kLeft);
  table.add_column("outcome" + page.footnote("outcome"), Align::kLeft);
  table.add_column("ttt s" + page.footnote("ttt_s"), Align::kRight);
  table.add_column("epochs" + page.footnote("epochs_to_target"), Align::kRight);
  table.add_column("final" + page.footnote("final_quality"), Align::kRight);
  table.add_column("samples/s" + page.footnote("train_throughput"), Align::kRight);
  for (const RunReport& run : report.runs) {
    const RunFacts& facts = run.facts;
    table.add_row({page.shown(run.name), to_string(facts.outcome),
                   facts.ttt_s ? fmt::format("{:.3f}", *facts.ttt_s) : "-",
                   short_number(facts.progress.epochs_to_target), quality_text(facts.final_quality),
                   short_number(facts.train_throughput)});
  }
  page.table(table);
}

/// One row per run, one column per part, in percent; runs with other parts go to another table.
void write_share_table(TextPage& page, const Report& report, bool with_telemetry) {
  std::vector<const Part*> heads;
  std::vector<const RunReport*> runs;
  for (const RunReport& run : report.runs) {
    if (run.telemetry.has_value() != with_telemetry || !run.best_breakdown()) continue;
    runs.push_back(&run);
    for (const Part& part : run.best_breakdown()->parts) {
      const auto same = [&](const Part* head) { return head->name == part.name; };
      if (std::none_of(heads.begin(), heads.end(), same)) heads.push_back(&part);
    }
  }
  if (runs.empty()) return;
  page.heading(with_telemetry ? "Where the time went, % of the ranks' mean wall time"
                              : "Where the time went by the logs' records, % of the run",
               {with_telemetry ? "subsystems" : "parts"});
  TextTable table;
  table.add_column("log", Align::kLeft);
  for (const Part* head : heads) {
    const std::string key = with_telemetry ? head->name : "part " + head->name;
    table.add_column(head->name + page.footnote(key, head->definition), Align::kRight);
  }
  for (const RunReport* run : runs) {
    std::vector<std::string> cells = {page.shown(run->name)};
    for (const Part* head : heads) {
      cells.push_back("-");
      for (const Part& part : run->best_breakdown()->parts) {
        if (part.name == head->name) cells.back() = percent_text(part.percent);
      }
    }
    table.add_row(cells);
  }
  page.table(table);
}

void write_system_table(TextPage& page, const Report& report) {
  if (report.systems.empty()) return;
  page.heading("Sets of runs", {});
  TextTable table;
  table.add_column("folder", Align::kLeft);
  table.add_column("runs" + page.footnote("runs"), Align::kRight);
  table.add_column("failed" + page.footnote("failed"), Align::kRight);
  table.add_column("score min" + page.footnote("score_min"), Align::kRight);
  table.add_column("mean s" + page.footnote("ttt_mean_s"), Align::kRight);
  table.add_column("stdev s" + page.footnote("ttt_stdev_s"), Align::kRight);
  table.add_column("epochs" + page.footnote("epochs_mean"), Align::kRight);
  for (const SystemReport& system : report.systems) {
    const SystemFacts& facts = system.facts;
    std::optional<double> score;
    if (facts.olympic_mean_s) {
      score = *facts.olympic_mean_s / 60.0 * facts.scaling_factor.value_or(1.0);
    }
    table.add_row({page.shown(system.name), std::to_string(facts.runs),
                   std::to_string(facts.failed), short_number(score),
                   short_number(facts.ttt_mean_s), short_number(facts.ttt_stdev_s),
                   short_number(facts.epochs_mean)});
  }
  page.table(table);
}

std::string place(const Finding& finding) {
  if (finding.line == 0) return "";
  return fmt::format(":{}:{}", finding.line, finding.column);
}

void write_findings(TextPage& page, const std::string& name, const std::vector<Finding>& findings) {
  const std::size_t shown = std::min(findings.size(), kShownFindings);
  for (std::size_t i = 0; i < shown; ++i) {
    page.item(name + place(findings[i]) + ": " + findings[i].text);
  }
  if (findings.size() > shown) {
    page.item(fmt::format("{}: {} more, all in the JSON", name, findings.size() - shown));
  }
}

void write_all_findings(TextPage& page, const Report& report) {
  bool any = !report.problems.empty();
  for (const RunReport& run : report.runs) any = any || !run.findings.empty();
  for (const SystemReport& system : report.systems) any = any || !system.findings.empty();
  if (!any) return;
  page.heading("Findings", {});
  for (const Problem& problem : report.problems) page.item(problem.path + ": " + problem.text);
  for (const RunReport& run : report.runs) write_findings(page, run.name, run.findings);
  for (const SystemReport& system : report.systems) {
    write_findings(page, system.name, system.findings);
  }
}

}  // namespace

void write_text(std::ostream& out, const Report& report, std::size_t width) {
  TextPage page(out, width);
  if (report.runs.size() == 1) {
    write_one(page, report.runs.front());
  } else if (!report.runs.empty()) {
    write_run_table(page, report);
    write_share_table(page, report, true);
    write_share_table(page, report, false);
    write_system_table(page, report);
  }
  write_all_findings(page, report);
  page.write_footnotes();
}

}  // namespace analysis
