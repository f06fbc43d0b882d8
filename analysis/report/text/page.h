// A page of text: headings, facts, paragraphs, tables, and numbered definitions at its end. Wraps
// lines, or writes Markdown.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/text/table.h"

namespace analysis::report {

/// kMarkdown: unwrapped, with tables and footnotes as GitHub and Pandoc read them.
enum class TextForm { kTerminal, kMarkdown };

/// Makes all text printable before writing it; only the cells of tables must already be printable.
class TextPage {
 public:
  TextPage(std::ostream& out, std::size_t width, TextForm form = TextForm::kTerminal);

  void title(const std::string& text);
  void heading(const std::string& text, const std::vector<std::string>& defined);
  void paragraph(const std::string& text);
  /// A line "label   text [1] [2]" with footnotes for the names in `defined`.
  void fact(const std::string& label, const std::string& text,
            const std::vector<std::string>& defined);
  /// A wrapped line beginning with "- ".
  void item(const std::string& text);
  void table(const TextTable& table);

  /// Reference " [n]" (Markdown: "[^n]") to the definition of `name`, by default definition_of();
  /// "" if that is empty. A name has the same n each time.
  std::string footnote(const std::string& name);
  std::string footnote(const std::string& name, const std::string& definition);
  /// `text` made printable, for cells of a table.
  std::string shown(const std::string& text) const;
  /// Writes the definitions that were referred to, by number.
  void write_footnotes();

 private:
  bool is_markdown() const { return form_ == TextForm::kMarkdown; }
  /// Writes a block of Markdown, after a blank line except between items of a list.
  void block(const std::string& mark, const std::string& text);
  void wrapped(const std::string& first_indent, const std::string& indent, const std::string& text);
  std::ostream& out_;
  std::size_t width_;
  TextForm form_;
  bool is_first_ = true, in_list_ = false;
  std::vector<std::pair<std::string, std::string>> notes_;
};

}  // namespace analysis::report
