// Writes JSON documents for people and scripts.
#pragma once

#include <string>

namespace base {

/// `document`, nlohmann's json or ordered_json, as ASCII on one line without a line end. Unlike
/// dump() it never throws: bytes that are not UTF-8, as in paths, become U+FFFD.
template <class Json>
std::string json_line(const Json& document) {
  return document.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// `document`, nlohmann's json or ordered_json, as ASCII with a line end. Other characters are
/// escaped, as some act on a terminal; bytes that are not UTF-8 become U+FFFD.
template <class Json>
std::string json_text(const Json& document, int indent = 1) {
  return document.dump(indent, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace base
