// Text escaped for XML.
#pragma once

#include <string>
#include <string_view>

namespace analysis::report {

/// `text` as printable UTF-8, escaped for text and double-quoted attributes of XML 1.0. Characters
/// that XML 1.0 forbids become '?'.
std::string xml_text(std::string_view text);

}  // namespace analysis::report
