// Escapes text for Markdown.
#include "analysis/report/text/markdown.h"

#include <algorithm>
#include <cctype>

#include "runner/base/printable.h"

namespace analysis::report {
namespace {

/// Whether the character at `at` would begin a heading, a list item or a rule.
bool makes_block(std::string_view text, std::size_t at) {
  const bool ends_word = at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == text[at];
  if (!ends_word) return false;
  if (at == 0) return std::string_view("#+-=:").find(text[at]) != std::string_view::npos;
  return (text[at] == '.' || text[at] == ')') &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string markdown_text(std::string_view text) {
  const std::string shown = base::printable(text);
  std::string escaped;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    constexpr std::string_view kMarkup = "\\`*_[]<>|&~$";
    const bool is_markup = kMarkup.find(shown[i]) != std::string_view::npos;
    if (is_markup || makes_block(shown, i)) escaped += '\\';
    escaped += shown[i];
  }
  return escaped;
}

}  // namespace analysis::report
