// The runs of one folder as text.
#include "analysis/report/text/set.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/fields.h"
#include "analysis/numbers.h"
#include "analysis/report/text/run.h"
#include "analysis/system_fields.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;
using Runs = std::vector<const RunReport*>;

/// The parts of a run to show. Telemetry is used only if every run of the folder has it, so that
/// all cells of a column have the same meaning.
const Breakdown* breakdown_of(const RunReport& run, bool use_telemetry) {
  if (use_telemetry) return &run.telemetry->subsystems;
  return run.log_parts ? &*run.log_parts : nullptr;
}

/// The parts of all runs, each once, in order of first appearance.
std::vector<const Part*> heads_of(const Runs& runs, bool use_telemetry) {
  std::vector<const Part*> heads;
  for (const RunReport* run : runs) {
    const Breakdown* breakdown = breakdown_of(*run, use_telemetry);
    if (!breakdown) continue;
    for (const Part& part : breakdown->parts) {
      const auto same = [&](const Part* head) { return head->name == part.name; };
      if (std::none_of(heads.begin(), heads.end(), same)) heads.push_back(&part);
    }
  }
  return heads;
}

std::string share(const Breakdown* breakdown, const std::string& name) {
  if (!breakdown) return "-";
  for (const Part& part : breakdown->parts) {
    if (part.name == name) return percent_text(part.percent);
  }
  return "-";
}

void write_runs(TextPage& page, const Runs& runs) {
  const bool use_telemetry = std::all_of(
      runs.begin(), runs.end(), [](const RunReport* run) { return run->telemetry.has_value(); });
  const std::vector<const Part*> heads = heads_of(runs, use_telemetry);
  TextTable table;
  table.add_column("log", Align::kLeft);
  table.add_column(page.defined("outcome", "outcome"), Align::kLeft);
  table.add_column(page.defined("ttt s", "ttt_s"), Align::kRight);
  const bool by_epochs =
      std::ranges::all_of(runs, [](const RunReport* run) { return run->facts.counts_epochs(); });
  table.add_column(by_epochs ? page.defined("epochs", "epochs_to_target")
                             : page.defined("samples", "samples_to_target"),
                   Align::kRight);
  table.add_column(page.defined("final", "final_quality"), Align::kRight);
  table.add_column(page.defined("samples/s", "train_throughput"), Align::kRight);
  for (const Part* head : heads) {
    const std::string key = use_telemetry ? head->name : "part " + head->name;
    table.add_column(page.defined(head->name + " %", key, head->definition), Align::kRight);
  }
  for (const RunReport* run : runs) {
    const RunFacts& facts = run->facts;
    std::vector<std::string> cells = {run->path.filename().string(),
                                      to_string(facts.outcome),
                                      facts.ttt_s ? fmt::format("{:.3f}", *facts.ttt_s) : "-",
                                      short_number(by_epochs ? facts.progress.epochs_to_target
                                                             : facts.progress.samples_to_target),
                                      quality_text(facts.final_quality),
                                      short_number(facts.train_throughput)};
    for (const Part* head : heads) {
      cells.push_back(share(breakdown_of(*run, use_telemetry), head->name));
    }
    table.add_row(cells);
  }
  page.table(table);
}

/// "; LABEL VALUE UNIT" for a figure of system_fields(); "" if it is absent.
std::string figure(TextPage& page, const SystemFacts& facts, const std::string& name,
                   const std::string& label) {
  const Field<SystemFacts>* const field = find_field(system_fields(), name);
  const std::string text = field ? to_text(field->get(facts)) : "";
  if (text.empty()) return "";
  const std::string unit = field->unit.empty() ? "" : " " + field->unit;
  page.defined(label, name);
  return "; " + label + " " + text + unit;
}

/// Like figure(), for the energy of runs whose power was measured.
std::string energy_figure(TextPage& page, const std::optional<submission::SetEnergy>& energy) {
  if (!energy || !energy->energy_j) return "";
  constexpr char kName[] = "energy.energy_j";
  for (const submission::EnergyDefinition& one : submission::energy_definitions()) {
    if (one.name != kName) continue;
    page.defined("energy", kName, std::string(one.definition));
    return fmt::format("; energy {} {}", short_number(energy->energy_j), one.unit);
  }
  return "";
}

void write_system(TextPage& page, const SystemReport& system) {
  const SystemFacts& facts = system.facts;
  std::string text = fmt::format("{} of {} runs succeeded", facts.successful, facts.runs);
  if (facts.rule_breaking > 0) {
    page.defined("break rules", "rule_breaking");
    text += fmt::format("; {} of them break rules of their round", facts.rule_breaking);
  }
  text += figure(page, facts, "runs_required", "MLPerf asks for");
  text += figure(page, facts, "score_min", "score");
  if (facts.lacks_runs() && !facts.weak) text += "; no valid score of fewer runs";
  text += figure(page, facts, "ttt_mean_s", "mean");
  text += figure(page, facts, "ttt_stdev_s", "standard deviation");
  text += figure(page, facts, "time_unit", "but time_ms is");
  text += figure(page, facts, "epochs_mean", "on average");
  text += figure(page, facts, "ttta_s", "all together in");
  text += figure(page, facts, "models_per_min", "models per minute");
  text += figure(page, facts, "precision", "precision");
  text += figure(page, facts, "parallelism", "parallelism");
  text += figure(page, facts, "micro_batch_size", "micro batch");
  text += energy_figure(page, system.energy);
  page.paragraph(text);
}

}  // namespace

void write_set(TextPage& page, const std::string& folder, const Runs& runs,
               const SystemReport* system) {
  page.heading(folder, {});
  if (system) write_system(page, *system);
  write_runs(page, runs);
  for (const RunReport* run : runs) {
    if (run->telemetry) write_waiting(page, run->path.filename().string(), *run->telemetry);
  }
}

}  // namespace analysis::report
