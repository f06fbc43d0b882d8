// A page of text: headings, facts, paragraphs, tables, and definitions at its end. Wraps lines, or
// writes Markdown.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/text/table.h"

namespace analysis::report {

/// kMarkdown: unwrapped, with tables as GitHub and Pandoc read them.
enum class TextForm { kTerminal, kMarkdown };
/// Whether a page ends with the meaning of its figures.
enum class Definitions { kHidden, kShown };

/// Makes all text printable before writing it.
class TextPage {
 public:
  TextPage(std::ostream& out, std::size_t width, TextForm form = TextForm::kTerminal,
           Definitions definitions = Definitions::kHidden);

  void title(const std::string& text);
  void heading(const std::string& text, const std::vector<std::string>& defined);
  void paragraph(const std::string& text);
  /// A line "label   text". The names in `defined` say what the figures are.
  void fact(const std::string& label, const std::string& text,
            const std::vector<std::string>& defined);
  /// A wrapped line beginning with "- ".
  void item(const std::string& text);
  void table(const TextTable& table);
  /// A line with its blanks as they are, shortened to the page's width. For terminals.
  void line(const std::string& text);

  /// Returns `label`, and has the page end with what the figure `name` under that label means:
  /// `definition`, by default definition_of().
  std::string defined(const std::string& label, const std::string& name);
  std::string defined(const std::string& label, const std::string& name,
                      const std::string& definition);
  /// Writes the definitions of the figures on the page, in their order, if they are to be shown.
  void write_definitions();

 private:
  bool is_markdown() const { return form_ == TextForm::kMarkdown; }
  /// Writes a block of Markdown, after a blank line except between items of a list.
  void block(const std::string& mark, const std::string& text);
  void wrapped(const std::string& first_indent, const std::string& indent, const std::string& text);
  std::ostream& out_;
  std::size_t width_;
  TextForm form_;
  Definitions definitions_;
  bool is_first_ = true, in_list_ = false;
  struct Note {
    std::string label, name, definition;
  };
  std::vector<Note> notes_;
};

}  // namespace analysis::report
