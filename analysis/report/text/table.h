// A table of text on a fixed number of columns.
// Hides alignment and which column gives way when the table is too wide.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace analysis::report {

class TextTable {
 public:
  enum class Align { kLeft, kRight };

  void add_column(const std::string& heading, Align align);
  /// As many cells as columns; printable text.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// Writes the table indented by two blanks, at most `width` columns wide: the first
  /// column is shortened first; when that is not enough, trailing columns go to a second table
  /// below, which repeats it.
  void write(std::ostream& out, std::size_t width) const;
  /// As a table of Markdown, with all of every cell.
  void write_markdown(std::ostream& out) const;

 private:
  struct Column {
    std::string heading;
    Align align;
  };
  std::vector<std::size_t> natural_widths() const;
  void write_part(std::ostream& out, const std::vector<std::size_t>& which,
                  const std::vector<std::size_t>& widths) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace analysis::report
