// The systems of a round as text.
#include "analysis/report/text/round.h"

#include <fmt/format.h>

#include "analysis/findings/round_rows.h"
#include "analysis/numbers.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;

void write_benchmark(TextPage& page, const std::string& benchmark,
                     const std::vector<RoundRow>& rows) {
  page.heading(benchmark, {});
  TextTable table;
  table.add_column("submitter", Align::kLeft);
  table.add_column("system", Align::kLeft);
  const auto add_number = [&](const char* heading, const char* name) {
    table.add_column(page.defined(heading, name), Align::kRight);
  };
  add_number("units", "compute_units");
  table.add_column(page.defined("runs", "successful"), Align::kRight);
  add_number("score min", "score_min");
  add_number("epochs", "olympic_epochs_run");
  add_number("samples/s", "olympic_train_throughput");
  for (const RoundRow& row : rows) {
    const SystemFacts& facts = row.system->facts;
    table.add_row({row.submitter.empty() ? "-" : page.shown(row.submitter), page.shown(row.name),
                   facts.compute_units ? digits_text(*facts.compute_units) : "-",
                   fmt::format("{} of {}", facts.successful, facts.runs),
                   row.score_min ? fmt::format("{:.2f}", *row.score_min) : "-",
                   short_number(facts.olympic.epochs_run),
                   short_number(facts.olympic.train_throughput)});
  }
  page.table(table);
}

}  // namespace

void write_round(TextPage& page, const Report& report) {
  for (const auto& [benchmark, rows] : rows_of_round(report))
    write_benchmark(page, benchmark, rows);
}

}  // namespace analysis::report
