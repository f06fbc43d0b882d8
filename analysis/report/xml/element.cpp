// Text escaped for XML.
#include "analysis/report/xml/element.h"

#include "runner/base/printable.h"

namespace analysis::report {
namespace {

/// First two bytes of U+FFFE and U+FFFF, the only characters that printable() keeps but XML 1.0
/// forbids.
constexpr std::string_view kNoCharacter = "\xef\xbf";
constexpr std::size_t kNoCharacterBytes = 3;

}  // namespace

std::string xml_text(std::string_view text) {
  const std::string plain = base::printable(text);
  std::string escaped;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::string_view rest = std::string_view(plain).substr(i);
    if (rest.starts_with(kNoCharacter) && rest.size() >= kNoCharacterBytes &&
        static_cast<unsigned char>(rest[2]) >= 0xbe) {
      escaped += '?';
      i += kNoCharacterBytes - 1;
    } else if (plain[i] == '&') {
      escaped += "&amp;";
    } else if (plain[i] == '<') {
      escaped += "&lt;";
    } else if (plain[i] == '>') {
      escaped += "&gt;";
    } else if (plain[i] == '"') {
      escaped += "&quot;";
    } else {
      escaped += plain[i];
    }
  }
  return escaped;
}

}  // namespace analysis::report
