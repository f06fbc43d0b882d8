// Validates JSON documents against a JSON Schema (draft 7).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace schema_check {

/// The first error and its place; "" for a valid document.
inline std::string fault(const std::string& schema_text, const nlohmann::json& document) {
  const nlohmann::json schema_json = nlohmann::json::parse(schema_text);
  valijson::Schema schema;
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_json), schema);
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target(document);
  if (validator.validate(schema, target, &results)) return "";
  valijson::ValidationResults::Error error;
  if (!results.popError(error)) return "unknown";
  std::string place;
  for (const std::string& part : error.context) place += part;
  return place + ": " + error.description;
}

}  // namespace schema_check
