// Text that Markdown shows as it is.
// Hides which characters mean something.
#pragma once

#include <string>
#include <string_view>

namespace analysis::report {

/// `text`, made printable, on one line, with every character that would be markup escaped;
/// references to footnotes, "[^3]", stay.
std::string markdown_text(std::string_view text);

}  // namespace analysis::report
