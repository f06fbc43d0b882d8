// Helpers to build JSON Schemas (draft 7) of the documents that commands write.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace base::schema {

using Json = nlohmann::ordered_json;
using Member = std::pair<std::string, Json>;

Json type(const char* name);     ///< {"type": name}
Json or_null(const char* name);  ///< the named type, or null
Json count();                    ///< an integer of at least 0
Json list(Json items);
Json described(Json schema, const std::string& text);
/// An object with all of these members, and no others but the optional ones.
Json object(const std::vector<Member>& members, const std::vector<Member>& optional = {});
/// An object whose members have any names.
Json map_of(Json value);
/// A complete schema.
Json document(const std::string& title, const Json& schema);

}  // namespace base::schema
