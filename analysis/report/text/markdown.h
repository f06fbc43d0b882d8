// Escapes text for Markdown.
#pragma once

#include <string>
#include <string_view>

namespace analysis::report {

/// `text`, made printable and on one line, with every character that Markdown would interpret
/// escaped.
std::string markdown_text(std::string_view text);

}  // namespace analysis::report
