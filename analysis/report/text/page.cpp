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

TextPage::TextPage(std::ostream& out, std::size_t width, TextForm form)
    : out_(out), width_(std::max(width, kNarrowest)), form_(form) {}

void TextPage::title(const std::string& text) {
  if (is_markdown()) return block("# ", text);
  is_first_ = false;
  out_ << base::shortened(base::printable(text), width_) << '\n';
}

void TextPage::heading(const std::string& text, const std::vector<std::string>& defined) {
  std::string line = text;
  for (const std::string& name : defined) line += footnote(name);
  if (is_markdown()) return block("## ", line);
  if (!is_first_) out_ << '\n';
  wrapped("", "  ", line);
}

void TextPage::paragraph(const std::string& text) {
  if (is_markdown()) return block("", text);
  wrapped("  ", "  ", text);
}

void TextPage::fact(const std::string& label, const std::string& text,
                    const std::vector<std::string>& defined) {
  std::string line = text;
  for (const std::string& name : defined) line += footnote(name);
  if (is_markdown()) return block("- ", fmt::format("{}: {}", label, line));
  wrapped(fmt::format("  {:<{}}", label, kLabelColumns), std::string(kLabelColumns + 2, ' '), line);
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

std::string TextPage::footnote(const std::string& name) {
  return footnote(name, definition_of(name));
}

std::string TextPage::footnote(const std::string& name, const std::string& definition) {
  if (definition.empty()) return "";
  auto found = std::find_if(notes_.begin(), notes_.end(),
                            [&](const auto& note) { return note.first == name; });
  if (found == notes_.end()) found = notes_.insert(notes_.end(), {name, definition});
  return fmt::format(fmt::runtime(is_markdown() ? "[^{}]" : " [{}]"), found - notes_.begin() + 1);
}

std::string TextPage::shown(const std::string& text) const { return base::printable(text); }

void TextPage::write_footnotes() {
  if (notes_.empty()) return;
  if (is_markdown()) {
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      block(fmt::format("[^{}]: ", i + 1), notes_[i].first + ": " + notes_[i].second);
    }
    return;
  }
  out_ << "\nDefinitions\n";
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    const std::string number = fmt::format("  [{}]", i + 1);
    wrapped(fmt::format("{:<7}", number), std::string(7, ' '),
            notes_[i].first + ": " + notes_[i].second);
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
