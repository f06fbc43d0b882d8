// A page of text: headings, facts, paragraphs, and numbered definitions at its foot.
// Hides wrapping, Markdown, and the numbering of footnotes.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/text/table.h"

namespace analysis::report {

/// kMarkdown: with tables and footnotes as GitHub and Pandoc read them, of any width.
enum class TextForm { kTerminal, kMarkdown };

/// Everything given to it is made printable first.
class TextPage {
 public:
  TextPage(std::ostream& out, std::size_t width, TextForm form = TextForm::kTerminal);

  void title(const std::string& text);
  void heading(const std::string& text, const std::vector<std::string>& defined);
  void paragraph(const std::string& text);
  /// A line "label   text [1][2]" with the definitions of the names in `defined`.
  void fact(const std::string& label, const std::string& text,
            const std::vector<std::string>& defined);
  /// A wrapped line beginning with "- ".
  void item(const std::string& text);
  void table(const TextTable& table);

  /// " [n]" (Markdown: "[^n]") for a name with a definition (definition_of() unless given); the
  /// same n each time.
  std::string footnote(const std::string& name);
  std::string footnote(const std::string& name, const std::string& definition);
  /// `text` made printable, for cells of a table.
  std::string shown(const std::string& text) const;
  /// The definitions that were referred to, in order.
  void write_footnotes();

 private:
  bool is_markdown() const { return form_ == TextForm::kMarkdown; }
  /// A block of Markdown: a blank line stands before it, but within a list.
  void block(const std::string& mark, const std::string& text);
  void wrapped(const std::string& first_indent, const std::string& indent, const std::string& text);
  std::ostream& out_;
  std::size_t width_;
  TextForm form_;
  bool is_first_ = true, in_list_ = false;
  std::vector<std::pair<std::string, std::string>> notes_;
};

}  // namespace analysis::report
