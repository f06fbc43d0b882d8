// A text table that is shortened or split to fit a width.
#include "analysis/report/text/table.h"

#include <algorithm>
#include <ostream>

#include "analysis/report/text/markdown.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 2;
/// Wide tables first shorten their first column to this width, that of "time to train [12]".
constexpr std::size_t kNarrowestName = 18;

std::string cell_text(const std::string& text, std::size_t width, TextTable::Align align,
                      bool is_last) {
  const std::string shown = base::shortened(text, width);
  const std::string padding(width - base::columns(shown), ' ');
  if (align == TextTable::Align::kRight) return padding + shown;
  return is_last ? shown : shown + padding;
}

}  // namespace

void TextTable::add_column(const std::string& heading, Align align) {
  columns_.push_back({heading, align});
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
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

void TextTable::write(std::ostream& out, std::size_t width) const {
  if (columns_.empty()) return;
  std::vector<std::size_t> widths = natural_widths();
  const std::size_t room = width > kIndent ? width - kIndent : 1;
  std::size_t total = 0;
  for (const std::size_t w : widths) total += w + kGap;
  total -= kGap;
  if (total > room) {
    const std::size_t excess = total - room;
    const std::size_t spare = widths[0] > kNarrowestName ? widths[0] - kNarrowestName : 0;
    widths[0] -= std::min(excess, spare);
  }
  widths[0] = std::min(widths[0], columns_.size() > 1 ? room / 2 + 1 : room);
  for (std::size_t next = 1; next <= columns_.size();) {
    std::vector<std::size_t> which = {0};
    std::size_t used = widths[0];
    while (next < columns_.size()) {
      const std::size_t beside = room > widths[0] + kGap ? room - widths[0] - kGap : 1;
      const std::size_t wanted = std::min(widths[next], beside);
      if (which.size() > 1 && used + kGap + wanted > room) break;
      widths[next] = wanted;
      used += kGap + wanted;
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
    std::string line(kIndent, ' ');
    for (std::size_t i = 0; i < which.size(); ++i) {
      const std::size_t c = which[i];
      if (i > 0) line += std::string(kGap, ' ');
      line += cell_text(text_of(c), widths[c], columns_[c].align, i + 1 == which.size());
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  };
  write_line([&](std::size_t c) { return columns_[c].heading; });
  for (const auto& row : rows_) {
    write_line([&](std::size_t c) { return row[c]; });
  }
}

}  // namespace analysis::report
