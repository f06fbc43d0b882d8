// Sections of the HTML report that hold a chart and, beneath it, the table of its figures.
// Hides the markup, and how the data reach the script.
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

/// A table that ends after its first rows: a page of a thousand logs must still open.
class FigureTable {
 public:
  static constexpr std::size_t kMostRows = 1000;
  explicit FigureTable(std::string_view caption) : table_(caption) {}

  void column(std::string_view heading, HtmlTable::Kind kind, std::string_view definition = "") {
    table_.column(heading, kind, definition);
  }
  /// Starts a row; false, and no cells then, where there are enough.
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

/// What a chart can be drawn against: value and label, the first one is checked.
using ChartChoices = std::vector<std::pair<const char*, const char*>>;

class ChartSections {
 public:
  /// `chart` is what report.js reads: {"id", "kind", ...}. `note` stands below the heading.
  void add(const std::string& title, const std::string& note, const nlohmann::ordered_json& chart,
           const std::string& legend, const ChartChoices& choices, const FigureTable& table);
  void add(const std::string& title, const std::string& note, const nlohmann::ordered_json& chart,
           const FigureTable& table) {
    add(title, note, chart, "", {}, table);
  }
  const std::string& html() const { return html_; }
  /// {"charts": [...]}, escaped for a script element.
  std::string data_script() const;

 private:
  std::string html_, charts_;
};

/// Seven digits, which say more than a chart shows: data stay short. Null for what is not finite.
nlohmann::ordered_json charted(double value);
nlohmann::ordered_json charted(const std::optional<double>& value);

}  // namespace analysis::report
