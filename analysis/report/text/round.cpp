// The systems of a round as text.
#include "analysis/report/text/round.h"

#include "analysis/findings/round_rows.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;

}  // namespace

void write_round(TextPage& page, const Report& report) {
  const std::vector<RoundColumn> columns = columns_of_round(report);
  for (const auto& [benchmark, rows] : rows_of_round(report)) {
    page.heading(benchmark, {});
    TextTable table;
    table.add_column("submitter", Align::kLeft);
    table.add_column("system", Align::kLeft);
    for (const RoundColumn& column : columns) {
      table.add_column(page.defined(column.heading, column.figure), Align::kRight);
    }
    for (const RoundRow& row : rows) {
      std::vector<std::string> cells = {row.submitter, row.name};
      for (const RoundColumn& column : columns) cells.push_back(column.text(row.system->facts));
      table.add_row(std::move(cells));
    }
    page.table(table);
  }
}

}  // namespace analysis::report
