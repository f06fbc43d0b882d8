// JSON as Python's json module reads and writes it: the dialect of MLPerf logs.
// Hides the differences: bare NaN and Infinity, ASCII only, separators with a blank, last duplicate
// wins.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace mllog {

/// `value` as json.dumps writes it: ", " and ": " between, non-ASCII as \uXXXX, NaN and infinities
/// bare, doubles as short as they read back (0.1, 1e-05, 2.0). Bytes that are not UTF-8 become
/// U+FFFD.
std::string to_python_json(const nlohmann::ordered_json& value);

/// Why text is no JSON, and the byte of it (from 0) that shows it.
struct JsonFault {
  std::size_t offset;
  std::string reason;
};

/// `text` as json.loads reads it. Of members of one name the last wins. Bytes that are not UTF-8
/// are taken as latin-1. Integers beyond 64 bits become doubles. Never throws for what the text
/// holds.
std::variant<nlohmann::json, JsonFault> parse_python_json(std::string_view text);

}  // namespace mllog
