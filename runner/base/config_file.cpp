// Reads a configuration file and applies the command line's a.b=value overrides.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"

namespace base {

namespace {

using Json = nlohmann::json;

Json parse_override_value(const std::string& text) {
  try {
    return parse_strict_json(text, "", JsonComments::kRefused);
  } catch (const DataError&) {
    return text;  // not JSON: a plain string needs no quotes
  }
}

void require_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
  } catch (const Json::exception&) {
    throw ConfigError("--set: expected UTF-8, got other bytes in '" +
                      Json(text).dump(-1, ' ', true, Json::error_handler_t::replace) + "'");
  }
}

void apply_override(Json& root, const std::string& text) {
  require_utf8(text);
  const auto refuse = [&](const std::string& reason) {
    throw ConfigError("--set " + text + ": " + reason);
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse("must look like key=value or outer.inner=value");
  const std::string dotted = text.substr(0, equals);

  Json* at = &root;
  std::string path;
  for (std::size_t begin = 0; begin <= dotted.size();) {
    const std::size_t end = std::min(dotted.find('.', begin), dotted.size());
    const std::string key = dotted.substr(begin, end - begin);
    if (key.empty()) refuse("has an empty key");
    if (!at->is_object()) refuse(path + " is not an object but " + brief_json(*at));
    path = json_path(path, key);
    if (!at->contains(key)) (*at)[key] = Json::object();
    at = &(*at)[key];
    begin = end + 1;
  }
  *at = parse_override_value(text.substr(equals + 1));
}

}  // namespace

std::string config_text(const std::string& path) {
  std::string problem;
  std::optional<std::string> text = read_text(path, problem);
  if (!text) throw ConfigError(path + ": " + problem);
  return *std::move(text);
}

Json load_config(const std::string& path, const std::vector<std::string>& overrides) {
  Json root;
  try {
    root = parse_strict_json(config_text(path), path, JsonComments::kAllowed);
  } catch (const DataError& e) {
    throw ConfigError(e.what());  // a configuration is part of the command line
  }
  if (!root.is_object()) {
    throw ConfigError(path + ": must be a JSON object, got " + brief_json(root));
  }
  for (const std::string& text : overrides) apply_override(root, text);
  return root;
}

}  // namespace base
