// Stragglers and slow exchanges in the HTML report.
#include "analysis/report/html/waiting.h"

#include <fmt/format.h>

#include "analysis/definitions.h"
#include "analysis/report/html/element.h"

namespace analysis::report {
namespace {

using Kind = HtmlTable::Kind;

std::string parts_of(const Straggler& straggler) {
  std::string text;
  for (const auto& [part, seconds] : straggler.where) {
    text += fmt::format("{}{} {:.3f}", text.empty() ? "" : ", ", part, seconds);
  }
  return text;
}

void add_row(HtmlTable& table, const std::string& log, const Straggler& one) {
  table.row();
  table.cell(log);
  table.cell(one.phase);
  table.cell(std::to_string(one.rank));
  table.cell(one.host);
  table.cell(std::to_string(one.node));
  table.cell(fmt::format("{:.3f}", one.longer_s));
  table.cell(parts_of(one));
  table.cell(fmt::format("{:.3f}", one.others_waited_s));
}

}  // namespace

std::string waiting_section(const Report& report) {
  HtmlTable table(definition_of("stragglers"));
  table.column("log", Kind::kText);
  table.column("phase", Kind::kText);
  table.column("rank", Kind::kNumber);
  table.column("host", Kind::kText);
  table.column("node", Kind::kNumber);
  table.column("longer s", Kind::kNumber, "its own work beyond the median rank's");
  table.column("of that, s", Kind::kText, "by part, beyond the median rank's");
  table.column("others' exchange s", Kind::kNumber,
               "exchange of the median of the others beyond its own");
  std::size_t rows = 0;
  bool any = false;
  std::string sentences;
  for (const RunReport& run : report.runs) {
    if (!run.telemetry || run.telemetry->ranks < 2) continue;
    any = true;
    for (const Straggler& one : run.telemetry->waiting.stragglers) {
      add_row(table, run.name, one);
      ++rows;
    }
    if (const auto& slow = run.telemetry->waiting.slow_exchange) {
      sentences += fmt::format("<p><abbr title=\"{}\">{}</abbr></p>\n",
                               html_text(definition_of("slow_exchange")),
                               html_text(run.name + ": " + sentence(*slow)));
    }
  }
  if (!any) return "";
  const std::string nobody =
      fmt::format("<p><abbr title=\"{}\">No rank in particular.</abbr></p>\n",
                  html_text(definition_of("stragglers")));
  return "<section><h2>Who was waited for</h2>\n" + (rows > 0 ? table.str() : nobody) + sentences +
         "</section>\n";
}

}  // namespace analysis::report
