// Strict JSON parsing: duplicate keys, numbers beyond a double and excessive nesting are errors,
// and every error states its position.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace base {

enum class JsonComments { kRefused, kAllowed };

/// The one JSON value in `text`. Throws DataError such as `small.json: line 3, column 7: not valid
/// JSON: ...` (lines and columns from 1, columns in bytes) or `small.json: line 5, column 9:
/// /optimizer/name: duplicate key`. `name` appears in messages. kAllowed: // and /* */ comments.
nlohmann::json parse_strict_json(std::string_view text, const std::string& name,
                                 JsonComments comments);

/// `parent` + "/" + key, with ~ and / in the key escaped as in RFC 6901.
std::string json_path(const std::string& parent, std::string_view key);

/// `value` as JSON text of at most about 60 bytes, for messages.
std::string brief_json(const nlohmann::json& value);

}  // namespace base
