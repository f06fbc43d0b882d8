// Sections of the HTML report: a chart, and beneath it the table of its figures.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/html/element.h"

namespace analysis::report {

/// A table of at most kMostRows rows, so that a page of a thousand logs still opens.
class FigureTable {
 public:
  static constexpr std::size_t kMostRows = 1000;
  explicit FigureTable(std::string_view caption) : table_(caption) {}

  void column(std::string_view heading, HtmlTable::Kind kind, std::string_view definition = "") {
    table_.column(heading, kind, definition);
  }
  /// Starts a row and returns true. Returns false if the table is full: add no cells then.
  bool row();
  void cell(std::string_view text) { table_.cell(text); }
  void cell(std::string_view text, std::string_view css_class) { table_.cell(text, css_class); }
  std::size_t rows() const { return rows_; }
  std::size_t left_out() const { return left_out_; }
  std::string str() const { return table_.str(); }

 private:
  HtmlTable table_;
  std::size_t rows_ = 0, left_out_ = 0;
};

/// Choices for the chart's radio buttons: value and label. The first one is checked.
using ChartChoices = std::vector<std::pair<const char*, const char*>>;

class ChartSections {
 public:
  /// `chart` is the object that report.js draws: {"id", "kind", ...}. `note` is shown below the
  /// heading, `legend` before the radio buttons.
  void add(const std::string& title, const std::string& note, const nlohmann::ordered_json& chart,
           const std::string& legend, const ChartChoices& choices, const FigureTable& table);
  void add(const std::string& title, const std::string& note, const nlohmann::ordered_json& chart,
           const FigureTable& table) {
    add(title, note, chart, "", {}, table);
  }
  /// The sections that were added since the last call.
  std::string take_html() { return std::exchange(html_, {}); }
  /// {"charts": [...]}, escaped for a script element.
  std::string data_script() const;

 private:
  std::string html_, charts_;
};

/// `value` rounded to seven digits, more than a chart can show, to keep the page small. Null if it
/// is not finite.
nlohmann::ordered_json charted(double value);
nlohmann::ordered_json charted(const std::optional<double>& value);

}  // namespace analysis::report
