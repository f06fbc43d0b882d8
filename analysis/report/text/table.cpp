// A text table whose cells are broken into lines, or which is split, to fit a width.
#include "analysis/report/text/table.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "analysis/report/text/markdown.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

constexpr std::size_t kColumnGap = 2;
/// Wide tables first make columns of text as narrow as this, that of "time to train" and a unit.
constexpr std::size_t kNarrowestText = 18;

/// Whether text may be broken after the character: a blank, or what joins the parts of a name.
bool is_break(char c) { return c == ' ' || base::kNameJoints.find(c) != std::string_view::npos; }

/// The text in lines of at most `width` columns, broken between words or parts of names if
/// possible.
std::vector<std::string> lines_of(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1), words(1);
  for (const char c : text) {
    words.back() += c;
    if (is_break(c)) words.emplace_back();
  }
  for (std::string word : words) {
    if (base::columns(lines.back() + word) > width && !lines.back().empty()) lines.emplace_back();
    while (base::columns(word) > width) {  // no place to break it
      const std::string head = base::first_columns(word, width);
      lines.back() = head;
      lines.emplace_back();
      word.erase(0, head.size());
    }
    lines.back() += word;
  }
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string padded(const std::string& text, std::size_t width, TextTable::Align align) {
  const std::string padding(width - base::columns(text), ' ');
  return align == TextTable::Align::kRight ? padding + text : text + padding;
}

}  // namespace

void TextTable::add_column(const std::string& heading, Align align) {
  columns_.push_back({base::printable(heading), align});
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = base::printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::natural_widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = base::columns(columns_[c].heading);
    for (const auto& row : rows_) width = std::max(width, base::columns(row[c]));
    widths.push_back(width);
  }
  return widths;
}

std::size_t TextTable::widest_text(const std::vector<std::size_t>& widths) const {
  std::size_t widest = 0;
  for (std::size_t c = 1; c < columns_.size(); ++c) {
    const bool is_text = columns_[c].align == Align::kLeft && !columns_[c].heading.empty();
    if (is_text && widths[c] > widths[widest]) widest = c;
  }
  return widest;
}

void TextTable::write(std::ostream& out, std::size_t width) const {
  if (columns_.empty()) return;
  std::vector<std::size_t> widths = natural_widths();
  const std::size_t room = width > kIndent ? width - kIndent : 1;
  std::size_t total = 0;
  for (const std::size_t w : widths) total += w + kColumnGap;
  total -= kColumnGap;
  for (; total > room; --total) {
    const std::size_t widest = widest_text(widths);
    if (widths[widest] <= kNarrowestText) break;
    --widths[widest];
  }
  widths[0] = std::min(widths[0], columns_.size() > 1 ? room / 2 + 1 : room);
  for (std::size_t next = 1; next <= columns_.size();) {
    std::vector<std::size_t> which = {0};
    std::size_t used = widths[0];
    while (next < columns_.size()) {
      const std::size_t beside = room > widths[0] + kColumnGap ? room - widths[0] - kColumnGap : 1;
      const std::size_t wanted = std::min(widths[next], beside);
      if (which.size() > 1 && used + kColumnGap + wanted > room) break;
      widths[next] = wanted;
      used += kColumnGap + wanted;
      which.push_back(next++);
    }
    write_part(out, which, widths);
    if (next >= columns_.size()) break;
    out << '\n';
  }
}

void TextTable::write_markdown(std::ostream& out) const {
  if (columns_.empty()) return;
  const auto write_line = [&](const auto& text_of) {
    for (std::size_t c = 0; c < columns_.size(); ++c) out << "| " << text_of(c) << ' ';
    out << "|\n";
  };
  write_line([&](std::size_t c) { return markdown_text(columns_[c].heading); });
  write_line([&](std::size_t c) { return columns_[c].align == Align::kRight ? "---:" : "---"; });
  for (const auto& row : rows_) {
    write_line([&](std::size_t c) { return markdown_text(row[c]); });
  }
}

void TextTable::write_part(std::ostream& out, const std::vector<std::size_t>& which,
                           const std::vector<std::size_t>& widths) const {
  const auto write_line = [&](const auto& text_of) {
    std::vector<std::vector<std::string>> cells;
    std::size_t most = 0;
    for (std::size_t i = 0; i < which.size(); ++i) {
      cells.push_back(lines_of(text_of(which[i]), widths[which[i]]));
      most = std::max(most, cells.back().size());
    }
    for (std::size_t row = 0; row < most; ++row) {
      std::string line(kIndent, ' ');
      for (std::size_t i = 0; i < which.size(); ++i) {
        if (i > 0) line += std::string(kColumnGap, ' ');
        const std::string text = row < cells[i].size() ? cells[i][row] : "";
        line += padded(text, widths[which[i]], columns_[which[i]].align);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out << line << '\n';
    }
  };
  write_line([&](std::size_t c) { return columns_[c].heading; });
  for (const auto& row : rows_) {
    write_line([&](std::size_t c) { return row[c]; });
  }
}

}  // namespace analysis::report
