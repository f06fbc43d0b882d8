// Text made safe to stand in XML.
// Hides the escapes, and what may not stand there at all.
#pragma once

#include <string>
#include <string_view>

namespace analysis::report {

/// Printable, UTF-8, and safe as text and inside double-quoted attributes of XML 1.0.
std::string xml_text(std::string_view text);

}  // namespace analysis::report
