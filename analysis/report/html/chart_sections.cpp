// Sections of the HTML report: a chart, and beneath it the table of its figures.
#include "analysis/report/html/chart_sections.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

std::string fieldset(const std::string& id, const std::string& legend,
                     const ChartChoices& choices) {
  if (choices.empty()) return "";
  std::string html = fmt::format("<fieldset><legend>{}</legend>", legend);
  for (const auto& [value, label] : choices) {
    html += fmt::format("<label><input type=\"radio\" name=\"{}-by\" value=\"{}\"{}> {}</label>",
                        id, value, value == choices.front().first ? " checked" : "", label);
  }
  return html + "</fieldset>\n";
}

std::string canvas(const std::string& id, const std::string& label) {
  return fmt::format(
      "<div class=\"chart\"><canvas id=\"{}\" role=\"img\" aria-label=\"{}; the table below has "
      "the same figures\"></canvas></div>\n",
      id, html_text(label));
}

std::string folded(const FigureTable& table) {
  if (table.rows() == 0) return "";
  std::string html = fmt::format("<details class=\"data\"><summary>Figures ({} rows)</summary>{}",
                                 table.rows(), table.str());
  if (table.left_out() > 0) {
    html += fmt::format("<p>{} more rows, which JSON and CSV have.</p>", table.left_out());
  }
  return html + "</details>\n";
}

}  // namespace

bool FigureTable::row() {
  if (rows_ == kMostRows) {
    ++left_out_;
    return false;
  }
  ++rows_;
  table_.row();
  return true;
}

void ChartSections::add(const std::string& title, const std::string& note, const Json& chart,
                        const std::string& legend, const ChartChoices& choices,
                        const FigureTable& table) {
  const auto id = chart.at("id").get<std::string>();
  html_ += fmt::format("<section><h2>{}</h2>\n", html_text(title));
  if (!note.empty()) html_ += fmt::format("<p class=\"quiet\">{}</p>\n", html_text(note));
  html_ += fieldset(id, legend, choices) + canvas(id, title) + folded(table) + "</section>\n";
  if (!charts_.empty()) charts_ += ",\n";
  charts_ += chart.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string ChartSections::data_script() const {
  return json_in_script("{\"charts\":[" + charts_ + "]}");
}

Json charted(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
}

Json charted(const std::optional<double>& value) { return value ? charted(*value) : Json(); }

}  // namespace analysis::report
