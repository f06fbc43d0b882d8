// Pieces of HTML with every text escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace analysis::report {

/// `text` escaped for use as text and in double-quoted attributes; control characters are replaced.
std::string html_text(std::string_view text);

/// `text` escaped as by html_text(), with places to break lines where the parts of a path or name
/// join.
std::string html_name(std::string_view text);

/// `json` (ASCII) for use in a script element: '<', '>' and '&' become Unicode escapes, so that no
/// text ends the element.
std::string json_in_script(const std::string& json);

/// A table with a caption and a heading for each column.
class HtmlTable {
 public:
  enum class Kind { kText, kLongText, kNumber };
  explicit HtmlTable(std::string_view caption);

  /// Adds a heading; its definition, if any, is shown when the pointer rests on it.
  void column(std::string_view heading, Kind kind, std::string_view definition = "");
  /// Starts a row. REQUIRES: then one cell per column.
  void row();
  void cell(std::string_view text);
  /// Adds a cell with a class of the style sheet.
  void cell(std::string_view text, std::string_view css_class);
  std::string str() const;

 private:
  std::string caption_, head_, body_;
  std::vector<Kind> kinds_;
  std::size_t next_ = 0;
  bool open_ = false;
};

}  // namespace analysis::report
