// Helpers to build JSON Schemas.
#include "runner/base/json_schema.h"

namespace base::schema {

Json type(const char* name) { return {{"type", name}}; }

Json or_null(const char* name) { return {{"type", {name, "null"}}}; }

Json count() { return {{"type", "integer"}, {"minimum", 0}}; }

Json list(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

Json described(Json schema, const std::string& text) {
  schema["description"] = text;
  return schema;
}

Json object(const std::vector<Member>& members, const std::vector<Member>& optional) {
  Json properties = Json::object(), required = Json::array();
  for (const auto& [name, schema] : members) {
    properties[name] = schema;
    required.push_back(name);
  }
  for (const auto& [name, schema] : optional) properties[name] = schema;
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

Json map_of(Json value) { return {{"type", "object"}, {"additionalProperties", std::move(value)}}; }

Json document(const std::string& title, const Json& schema) {
  Json whole = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  whole.update(schema);
  return whole;
}

}  // namespace base::schema
