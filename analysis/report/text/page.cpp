// A page of text.
#include "analysis/report/text/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "analysis/definitions.h"
#include "analysis/report/text/markdown.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

constexpr std::size_t kLabelColumns = 20;
constexpr std::size_t kNarrowest = 40;  ///< narrower pages are written this wide

/// The words of a text. Words wider than `widest` columns are shortened.
std::vector<std::string> words_of(const std::string& text, std::size_t widest) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    words.push_back(base::columns(word) > widest ? base::shortened(word, widest) : word);
  }
  return words;
}

}  // namespace

TextPage::TextPage(std::ostream& out, std::size_t width, TextForm form, Definitions definitions)
    : out_(out), width_(std::max(width, kNarrowest)), form_(form), definitions_(definitions) {}

void TextPage::title(const std::string& text) {
  if (is_markdown()) return block("# ", text);
  is_first_ = false;
  out_ << base::shortened(base::printable(text), width_) << '\n';
}

void TextPage::heading(const std::string& text, const std::vector<std::string>& names) {
  for (const std::string& name : names) defined(name, name);
  if (is_markdown()) return block("## ", text);
  if (!is_first_) out_ << '\n';
  wrapped("", "  ", text);
}

void TextPage::paragraph(const std::string& text) {
  if (is_markdown()) return block("", text);
  wrapped("  ", "  ", text);
}

void TextPage::fact(const std::string& label, const std::string& text,
                    const std::vector<std::string>& names) {
  const std::size_t begin = label.find_first_not_of(' ');
  for (const std::string& name : names) {
    defined(begin == std::string::npos ? label : label.substr(begin), name);
  }
  if (is_markdown()) return block("- ", fmt::format("{}: {}", label, text));
  wrapped(fmt::format("  {:<{}}", label, kLabelColumns), std::string(kLabelColumns + 2, ' '), text);
}

void TextPage::item(const std::string& text) {
  if (is_markdown()) return block("- ", text);
  wrapped("- ", "  ", text);
}

void TextPage::table(const TextTable& table) {
  if (!is_markdown()) return table.write(out_, width_);
  if (!is_first_) out_ << '\n';
  is_first_ = in_list_ = false;
  table.write_markdown(out_);
}

void TextPage::line(const std::string& text) {
  is_first_ = false;
  std::string shown = base::shortened(base::printable(text), width_);
  shown.erase(shown.find_last_not_of(' ') + 1);
  out_ << shown << '\n';
}

std::string TextPage::defined(const std::string& label, const std::string& name) {
  return defined(label, name, definition_of(name));
}

std::string TextPage::defined(const std::string& label, const std::string& name,
                              const std::string& definition) {
  const bool is_new = std::ranges::find(notes_, name, &Note::name) == notes_.end();
  if (is_new && !definition.empty()) notes_.push_back({label, name, definition});
  return label;
}

void TextPage::write_definitions() {
  if (definitions_ == Definitions::kHidden || notes_.empty()) return;
  heading("Definitions", {});
  for (const Note& note : notes_) {
    const std::string name = note.label == note.name ? "" : " (" + note.name + ")";
    item(note.label + name + ": " + note.definition);
  }
}

void TextPage::block(const std::string& mark, const std::string& text) {
  const bool is_item = mark == "- ";
  if (!is_first_ && !(is_item && in_list_)) out_ << '\n';
  out_ << mark << markdown_text(text) << '\n';
  is_first_ = false;
  in_list_ = is_item;
}

void TextPage::wrapped(const std::string& first_indent, const std::string& indent,
                       const std::string& text) {
  is_first_ = false;
  std::string line = first_indent;
  bool fresh = true;
  for (const std::string& word : words_of(base::printable(text), width_ - indent.size())) {
    if (!fresh && base::columns(line) + 1 + base::columns(word) > width_) {
      out_ << line << '\n';
      line = indent;
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out_ << line << '\n';
}

}  // namespace analysis::report
