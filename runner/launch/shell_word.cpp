// Quotes text for bash.
#include "runner/launch/shell_word.h"

#include <algorithm>
#include <string_view>

namespace launch {

std::string shell_word(const std::string& text) {
  const auto has = [&text](const char* characters) {
    return text.find_first_of(characters) != std::string::npos;
  };
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_./:=+@%-").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  // shellcheck reports a dollar in single quotes as a mistake.
  const bool doubled = has("'$`");
  const std::string_view special = "$`\"\\";
  std::string word;
  for (const char c : text) {
    if (doubled && special.find(c) != std::string_view::npos) word += '\\';
    word += c;
  }
  return doubled ? '"' + word + '"' : "'" + word + "'";
}

}  // namespace launch
