// Typed, checked reading of JSON objects, and the record of what was read.
#include "runner/base/object_reader.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/json_kinds.h"
#include "runner/base/strict_json.h"

namespace base {

struct ObjectReader::Node {
  /// The record of one key.
  struct Entry {
    Json schema;
    Json value;
    bool required = false;
    std::shared_ptr<Node> object;                ///< set if the value is an object
    std::vector<std::shared_ptr<Node>> objects;  ///< set if the value is an array of objects

    Json resolved() const;
  };

  std::string file;
  std::string path;
  Json found = Json::object();  ///< as in the file
  std::map<std::string, Entry> entries;

  std::string where(const std::string& key) const { return file + ": " + json_path(path, key); }

  const Json* find(const std::string& key) const {
    const auto at = found.find(key);
    return at == found.end() ? nullptr : &*at;
  }

  const Json& need(const std::string& key, const std::string& words,
                   const std::string& help) const {
    const Json* json = find(key);
    if (json != nullptr) return *json;
    std::vector<std::string> unread;
    for (const auto& [name, value] : found.items()) {
      if (!entries.contains(name)) unread.push_back(name);
    }
    const std::string near = nearest_name(key, unread);
    throw ConfigError(where(key) + ": is required (" + help + "): must be " + words +
                      ", but is absent" + (near.empty() ? "" : "; is it \"" + near + "\"?"));
  }

  template <class T>
  void require_check(const std::string& key, const T& value, const Check<T>& check) const {
    if (check.holds && !check.holds(value))
      refuse_value(where(key), check.expectation, Json(value));
  }

  void record(const std::string& key, Json value, Json schema, const std::string& help,
              const std::string& expectation) {
    schema["description"] = expectation.empty() ? help : help + " (" + expectation + ")";
    const bool required = !schema.contains("default");
    entries[key] = {std::move(schema), std::move(value), required, nullptr, {}};
  }

  std::shared_ptr<Node> child(const std::string& parent, const std::string& key,
                              const Json* json) const {
    auto node = std::make_shared<Node>();
    node->file = file;
    node->path = json_path(parent, key);
    if (json != nullptr) node->found = *json;
    return node;
  }

  void reject_unknown() const;
  Json resolved() const;
  Json schema() const;
};

ObjectReader::ObjectReader(const Json& object, std::string file) : node_(std::make_shared<Node>()) {
  if (!object.is_object()) refuse_value(file, "must be a JSON object", object);
  node_->file = std::move(file);
  node_->found = object;
}

template <class T>
T ObjectReader::required(const std::string& key, const std::string& help,
                         const Check<T>& check) const {
  const Json& json = node_->need(key, Reading<T>::words(), help);
  T value = Reading<T>::read(json, where(key));
  node_->require_check(key, value, check);
  node_->record(key, value, Reading<T>::schema(), help, check.expectation);
  return value;
}

template <class T>
T ObjectReader::optional(const std::string& key, T fallback, const std::string& help,
                         const Check<T>& check) const {
  Json schema = Reading<T>::schema();
  schema["default"] = fallback;
  const Json* json = node_->find(key);
  T value = json == nullptr ? std::move(fallback) : Reading<T>::read(*json, where(key));
  if (json == nullptr && check.holds && !check.holds(value)) {
    // The resolved configuration must be readable again.
    throw Error(ExitCode::kInternal, where(key) + ": its default fails its own check: " +
                                         check.expectation + ", got " + brief_json(Json(value)));
  }
  node_->require_check(key, value, check);
  node_->record(key, value, std::move(schema), help, check.expectation);
  return value;
}

std::size_t ObjectReader::choice_index(const std::string& key, const std::string& fallback,
                                       const std::vector<std::string>& names,
                                       const std::string& help) const {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  Json schema = {{"type", "string"}, {"enum", names}};
  if (!fallback.empty()) schema["default"] = fallback;

  const Json* json = node_->find(key);
  if (json == nullptr && fallback.empty()) json = &node_->need(key, "one of " + list, help);
  const std::string name = json == nullptr     ? fallback
                           : json->is_string() ? json->get<std::string>()
                                               : std::string();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) {
    const std::string near = nearest_name(name, names);
    const std::string hint = near.empty() ? "" : "; did you mean \"" + near + "\"?";
    throw ConfigError(where(key) + ": must be one of " + list + ", got " +
                      (json == nullptr ? "\"" + name + "\"" : brief_json(*json)) + hint);
  }
  node_->record(key, name, std::move(schema), help, "");
  return static_cast<std::size_t>(at - names.begin());
}

ObjectReader ObjectReader::object(const std::string& key, const std::string& help) const {
  Node::Entry& entry = node_->entries[key];
  if (entry.object) return ObjectReader(entry.object);
  const Json* json = node_->find(key);
  if (json != nullptr && !json->is_object()) {
    node_->entries.erase(key);
    refuse_value(where(key), "must be an object", *json);
  }
  entry.object = node_->child(node_->path, key, json);
  entry.schema = {{"description", help}};
  return ObjectReader(entry.object);
}

std::vector<ObjectReader> ObjectReader::objects(const std::string& key,
                                                const std::string& help) const {
  const Json* json = node_->find(key);
  if (json != nullptr && !json->is_array()) {
    refuse_value(where(key), "must be an array of objects", *json);
  }
  Node::Entry& entry = node_->entries[key];
  entry.schema = {{"description", help}, {"type", "array"}};
  entry.value = Json::array();
  const std::string path = json_path(node_->path, key);
  for (std::size_t i = entry.objects.size(); json != nullptr && i < json->size(); ++i) {
    const Json& item = (*json)[i];
    entry.objects.push_back(node_->child(path, std::to_string(i), nullptr));
    if (!item.is_object()) {
      refuse_value(node_->file + ": " + entry.objects.back()->path, "must be an object", item);
    }
    entry.objects.back()->found = item;
  }
  std::vector<ObjectReader> readers;
  for (const auto& object : entry.objects) readers.push_back(ObjectReader(object));
  return readers;
}

bool ObjectReader::has(const std::string& key) const { return node_->find(key) != nullptr; }

std::string ObjectReader::where() const {
  return node_->path.empty() ? node_->file : node_->file + ": " + node_->path;
}

std::string ObjectReader::where(const std::string& key) const { return node_->where(key); }

void ObjectReader::Node::reject_unknown() const {
  for (const auto& [key, value] : found.items()) {
    const auto known = entries.find(key);
    if (known != entries.end()) {
      if (known->second.object) known->second.object->reject_unknown();
      for (const auto& object : known->second.objects) object->reject_unknown();
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries) names.push_back(name);
    const std::string near = nearest_name(key, names);
    std::string hint = "; did you mean \"" + near + "\"?";
    if (near.empty()) {
      hint = names.empty() ? "" : "; known here: ";
      for (const std::string& name : names) hint += (name == names.front() ? "" : ", ") + name;
    }
    throw ConfigError(where(key) + ": unknown key" + hint);
  }
}

Json ObjectReader::Node::Entry::resolved() const {
  if (object) return object->resolved();
  if (objects.empty()) return value;
  Json array = Json::array();
  for (const auto& one : objects) array.push_back(one->resolved());
  return array;
}

Json ObjectReader::Node::resolved() const {
  Json json = Json::object();
  for (const auto& [key, entry] : entries) json[key] = entry.resolved();
  return json;
}

Json ObjectReader::Node::schema() const {
  Json json = {{"type", "object"}, {"additionalProperties", false}};
  json["properties"] = Json::object();
  for (const auto& [key, entry] : entries) {
    Json property = entry.schema;
    if (entry.object) property.update(entry.object->schema());
    if (!entry.objects.empty()) property["items"] = entry.objects.front()->schema();
    // An absent object reads as an empty one, so it may be left out unless something in it is
    // required.
    const bool required = entry.required || property.contains("required");
    if (required) json["required"].push_back(key);
    json["properties"][key] = std::move(property);
  }
  return json;
}

void ObjectReader::reject_unknown() const { node_->reject_unknown(); }

Json ObjectReader::resolved() const { return node_->resolved(); }

Json ObjectReader::schema() const {
  Json json = node_->schema();
  json["$schema"] = "http://json-schema.org/draft-07/schema#";
  return json;
}

template bool ObjectReader::required(const std::string&, const std::string&,
                                     const Check<bool>&) const;
template bool ObjectReader::optional(const std::string&, bool, const std::string&,
                                     const Check<bool>&) const;
template std::int64_t ObjectReader::required(const std::string&, const std::string&,
                                             const Check<std::int64_t>&) const;
template std::int64_t ObjectReader::optional(const std::string&, std::int64_t, const std::string&,
                                             const Check<std::int64_t>&) const;
template std::uint64_t ObjectReader::required(const std::string&, const std::string&,
                                              const Check<std::uint64_t>&) const;
template std::uint64_t ObjectReader::optional(const std::string&, std::uint64_t, const std::string&,
                                              const Check<std::uint64_t>&) const;
template double ObjectReader::required(const std::string&, const std::string&,
                                       const Check<double>&) const;
template double ObjectReader::optional(const std::string&, double, const std::string&,
                                       const Check<double>&) const;
template std::string ObjectReader::required(const std::string&, const std::string&,
                                            const Check<std::string>&) const;
template std::string ObjectReader::optional(const std::string&, std::string, const std::string&,
                                            const Check<std::string>&) const;
template std::vector<std::int64_t> ObjectReader::required(
    const std::string&, const std::string&, const Check<std::vector<std::int64_t>>&) const;
template std::vector<std::int64_t> ObjectReader::optional(
    const std::string&, std::vector<std::int64_t>, const std::string&,
    const Check<std::vector<std::int64_t>>&) const;
template std::vector<double> ObjectReader::required(const std::string&, const std::string&,
                                                    const Check<std::vector<double>>&) const;
template std::vector<double> ObjectReader::optional(const std::string&, std::vector<double>,
                                                    const std::string&,
                                                    const Check<std::vector<double>>&) const;
template std::vector<std::string> ObjectReader::required(
    const std::string&, const std::string&, const Check<std::vector<std::string>>&) const;
template std::vector<std::string> ObjectReader::optional(
    const std::string&, std::vector<std::string>, const std::string&,
    const Check<std::vector<std::string>>&) const;

}  // namespace base
