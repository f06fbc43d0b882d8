// A text table that is shortened or split to fit a width.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace analysis::report {

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  static constexpr std::size_t kIndent = 2;  ///< blanks before each line

  /// Headings and cells are made printable. Missing cells are empty; excess ones are dropped.
  void add_column(const std::string& heading, Align align);
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// Writes the table indented by kIndent blanks, at most `width` columns wide. A wide table first
  /// breaks the cells of its widest columns of text into several lines, then moves trailing columns
  /// to further tables below, which repeat the first column.
  void write(std::ostream& out, std::size_t width) const;
  /// Writes a Markdown table with unshortened cells.
  void write_markdown(std::ostream& out) const;

 private:
  struct Column {
    std::string heading;
    Align align;
  };
  std::vector<std::size_t> natural_widths() const;
  /// The first column or, if one is wider, the widest left-aligned one that has a heading.
  std::size_t widest_text(const std::vector<std::size_t>& widths) const;
  void write_part(std::ostream& out, const std::vector<std::size_t>& which,
                  const std::vector<std::size_t>& widths) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace analysis::report
