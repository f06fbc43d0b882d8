// One run as text.
#include "analysis/report/text/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/numbers.h"
#include "analysis/report/text/staging.h"
#include "runner/base/ceil_div.h"
#include "runner/base/printable.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace analysis::report {
namespace {

namespace keys = mllog::keys;
using Align = TextTable::Align;

/// Evaluations of a long run are thinned to about this many; JSON and CSV have all.
constexpr std::size_t kShownEvaluations = 24;
constexpr std::size_t kShownStragglers = 8;
constexpr std::size_t kTableBarColumns = 20;
/// A run of fewer epochs says nothing about the time of an epoch.
constexpr double kEpochWorthTelling = 0.1;

/// Headings of the quality columns, one per part of the target.
std::vector<std::string> part_names(const RunFacts& facts) {
  if (!facts.target || facts.target->parts.size() < 2) return {facts.metric_name()};
  std::vector<std::string> names;
  for (const mllog::TargetPart& part : facts.target->parts) names.push_back(part.name());
  return names;
}

void add_seconds(TextPage& page, const std::string& label, const char* name,
                 const std::optional<double>& seconds) {
  if (!seconds) return;
  page.fact(label, seconds_text(*seconds), {name});
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
    if (facts.parts.staging_beside_s > 0.0) {
      add_seconds(page, "  not beside training", "staging_alone_s", facts.parts.staging_alone_s());
    }
    add_seconds(page, "staging in all", "staging_s", facts.parts.staging_s);
  }
  add_seconds(page, "time to target", "time_to_target_s", facts.time_to_target_s());
  add_seconds(page, "initialisation", "init_s", facts.init_s);
  add_number(page, "epochs to target", "epochs_to_target", facts.progress.epochs_to_target);
  add_number(page, "epochs run", "epochs_run", facts.progress.epochs_run);
  if (!facts.counts_epochs()) {
    add_number(page, "samples to target", "samples_to_target", facts.progress.samples_to_target);
    add_number(page, "samples run", "samples_run", facts.progress.samples_run);
  }
  if (facts.progress.epochs_run.value_or(0.0) >= kEpochWorthTelling) {
    add_number(page, "time of an epoch", "mean_epoch_s", facts.mean_epoch_s(), "s");
  }
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
  table.add_column(position_heading(facts), Align::kRight);
  table.add_column("time s", Align::kRight);
  for (const std::string& part : part_names(facts)) table.add_column(part, Align::kRight);
  table.add_column("", Align::kLeft);
  const std::size_t all = facts.evaluations.size();
  const std::size_t step = base::ceil_div(all, kShownEvaluations);
  for (std::size_t i = 0; i < all; ++i) {
    const bool hit = facts.at_target == i;
    if (i % step != 0 && i + 1 != all && !hit) continue;
    const Evaluation& one = facts.evaluations[i];
    std::vector<std::string> cells = {short_number(one.position),
                                      fmt::format("{:.1f}", one.time_s)};
    for (const double part : one.parts) cells.push_back(quality_text(part));
    if (one.parts.empty()) cells.push_back(quality_text(one.quality));
    cells.push_back(hit ? "target" : "");
    table.add_row(cells);
  }
  page.table(table);
  if (step > 1) {
    page.paragraph(fmt::format("Every {}th of {} evaluations; JSON and CSV have all.", step, all));
  }
}

void write_subsystems(TextPage& page, const RunTelemetry& telemetry) {
  write_time_heading(page, telemetry);
  TextTable table;
  table.add_column("subsystem", Align::kLeft);
  for (const char* heading : {"min s", "mean s", "max s", "%"}) {
    table.add_column(heading, Align::kRight);
  }
  table.add_column("", Align::kLeft);
  for (const Part& part : telemetry.subsystems.parts) {
    table.add_row({page.defined(part.name, part.name, part.definition),
                   fmt::format("{:.3f}", part.min_s), fmt::format("{:.3f}", part.mean_s),
                   fmt::format("{:.3f}", part.max_s), percent_text(part.percent),
                   bar(part.percent, kTableBarColumns)});
  }
  page.table(table);
}

void write_who_was_waited_for(TextPage& page, const RunTelemetry& telemetry) {
  if (telemetry.ranks < 2) return;
  page.heading("Who was waited for", {"stragglers", "slow_exchange"});
  if (telemetry.waiting.stragglers.empty()) page.paragraph("No rank in particular.");
  write_waiting(page, "", telemetry);
}

void write_traced_step(TextPage& page, const TracedStep& step) {
  if (step.seconds == 0.0) return;
  page.heading("Communication of the traced steps",
               {"traced_step_s", "compute_s", "exchange_s", "transfers"});
  const auto ms = [](double seconds) {
    return fmt::format("{:.3f}", base::kMsPerSecond * seconds);
  };
  page.paragraph(fmt::format("A step takes {} ms: {} ms of computation and {} ms in communication.",
                             ms(step.seconds), ms(step.compute_s()), ms(step.exchange_s)));
  if (step.transfers.empty()) return;
  TextTable table;
  table.add_column("transfer", Align::kLeft);
  for (const char* heading :
       {"count", "MB sent", "in flight ms", "exposed ms", "hidden ms", "alone ms"}) {
    table.add_column(heading, Align::kRight);
  }
  for (const TracedTransfers& one : step.transfers) {
    table.add_row({base::printable(one.name), short_number(one.count),
                   fmt::format("{:.3f}", one.megabytes()), ms(one.in_flight_s), ms(one.exposed_s),
                   ms(one.hidden_s()), std::isnan(one.isolated_s) ? "-" : ms(one.isolated_s)});
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
    table.add_row({page.defined(quantity.name, quantity.name, quantity.definition),
                   short_number(quantity.min), short_number(quantity.mean),
                   short_number(quantity.max), short_number(quantity.sum)});
  }
  page.table(table);
  if (telemetry.overhead_fraction) {
    page.paragraph(
        fmt::format("Measuring cost {:.4f} % of the ranks' time (scopes entered times "
                    "the measured cost of one).",
                    100.0 * *telemetry.overhead_fraction));
  }
}

void write_log_parts(TextPage& page, const Breakdown& breakdown) {
  page.heading("Where the time went, by the log's records", {"parts", "intervals"});
  TextTable table;
  table.add_column("part", Align::kLeft);
  table.add_column("s", Align::kRight);
  table.add_column("%", Align::kRight);
  table.add_column("", Align::kLeft);
  for (const Part& part : breakdown.parts) {
    table.add_row({page.defined(part.name, "part " + part.name, part.definition),
                   fmt::format("{:.3f}", part.mean_s), percent_text(part.percent),
                   bar(part.percent, kTableBarColumns)});
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

}  // namespace

void write_time_heading(TextPage& page, const RunTelemetry& telemetry) {
  page.heading(fmt::format("Where the time went: {}, {:.1f} s each",
                           base::counted(telemetry.ranks, "rank"), telemetry.subsystems.wall_s),
               {"subsystems"});
}

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
  if (!facts.target) return "no target known";
  return fmt::format("{} {}{}", facts.metric, facts.target->words(),
                     facts.target_from_log ? " (from the log)" : "");
}

std::string position_heading(const RunFacts& facts) {
  using mllog::PositionUnit;
  if (!facts.position_unit || *facts.position_unit == PositionUnit::kEpochs) return "epoch";
  return *facts.position_unit == PositionUnit::kPasses ? "passes" : to_string(*facts.position_unit);
}

std::string bar(const std::optional<double>& percent, std::size_t columns) {
  const double part = percent.value_or(0.0) / 100.0;
  if (!(part > 0.0)) return "";
  return std::string(
      static_cast<std::size_t>(std::lround(std::min(part, 1.0) * static_cast<double>(columns))),
      '#');
}

void write_waiting(TextPage& page, const std::string& name, const RunTelemetry& telemetry) {
  const std::string before = name.empty() ? "" : name + ": ";
  const std::vector<Straggler>& stragglers = telemetry.waiting.stragglers;
  const std::size_t shown = std::min(stragglers.size(), kShownStragglers);
  for (std::size_t i = 0; i < shown; ++i) page.item(before + sentence(stragglers[i]));
  if (shown < stragglers.size()) {
    page.item(fmt::format("{}{} more, all in JSON and CSV", before, stragglers.size() - shown));
  }
  if (telemetry.waiting.slow_exchange) {
    page.item(before + sentence(*telemetry.waiting.slow_exchange));
  }
}

void write_run(TextPage& page, const RunReport& run) {
  page.title(run.name);
  page.paragraph(described(run.facts));
  write_times(page, run);
  write_staging(page, run);
  write_convergence(page, run.facts);
  if (run.telemetry) {
    write_subsystems(page, *run.telemetry);
    write_who_was_waited_for(page, *run.telemetry);
    if (run.trace) write_traced_step(page, run.trace->step);
    write_quantities(page, *run.telemetry);
  } else if (run.log_parts) {
    write_log_parts(page, *run.log_parts);
  }
  if (run.telemetry) write_provenance(page, *run.telemetry);
}

}  // namespace analysis::report
