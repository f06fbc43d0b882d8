// How each C++ type of a configuration value reads from JSON, and its JSON Schema. Private to
// object_reader.cpp, as it includes json.hpp.
#pragma once

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/strict_json.h"

namespace base {

using Json = nlohmann::json;

/// How a C++ type reads from JSON: `read` returns nothing for a value of another kind.
template <class T>
struct Kind;

template <>
struct Kind<bool> {
  static constexpr char kWords[] = "true or false";
  static Json schema() { return {{"type", "boolean"}}; }
  static std::optional<bool> read(const Json& json) {
    if (!json.is_boolean()) return {};
    return json.get<bool>();
  }
};

template <>
struct Kind<std::int64_t> {
  static constexpr char kWords[] = "an integer of 64 bits";
  static Json schema() { return {{"type", "integer"}}; }
  static std::optional<std::int64_t> read(const Json& json) {
    if (!json.is_number_integer()) return {};  // also true for unsigned integers
    const auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > largest) return {};
    return json.get<std::int64_t>();
  }
};

template <>
struct Kind<std::uint64_t> {
  static constexpr char kWords[] = "an integer of 64 bits that is not negative";
  static Json schema() { return {{"type", "integer"}, {"minimum", 0}}; }
  static std::optional<std::uint64_t> read(const Json& json) {
    if (!json.is_number_integer()) return {};
    if (!json.is_number_unsigned() && json.get<std::int64_t>() < 0) return {};
    return json.get<std::uint64_t>();
  }
};

template <>
struct Kind<double> {
  static constexpr char kWords[] = "a finite number";
  static Json schema() { return {{"type", "number"}}; }
  static std::optional<double> read(const Json& json) {
    if (!json.is_number() || !std::isfinite(json.get<double>())) return {};
    return json.get<double>();
  }
};

template <>
struct Kind<std::string> {
  static constexpr char kWords[] = "a string";
  static Json schema() { return {{"type", "string"}}; }
  static std::optional<std::string> read(const Json& json) {
    if (!json.is_string()) return {};
    return json.get<std::string>();
  }
};

[[noreturn]] inline void refuse_value(const std::string& where, const std::string& expectation,
                                      const Json& found) {
  throw ConfigError(where + ": " + expectation + ", got " + brief_json(found));
}

template <class T>
struct Reading {
  static Json schema() { return Kind<T>::schema(); }
  static std::string words() { return Kind<T>::kWords; }
  static T read(const Json& json, const std::string& where) {
    const std::optional<T> value = Kind<T>::read(json);
    if (!value) refuse_value(where, std::string("must be ") + Kind<T>::kWords, json);
    return *value;
  }
};

template <class T>
struct Reading<std::vector<T>> {
  static Json schema() { return {{"type", "array"}, {"items", Kind<T>::schema()}}; }
  static std::string words() { return std::string("an array, each item ") + Kind<T>::kWords; }
  static std::vector<T> read(const Json& json, const std::string& where) {
    if (!json.is_array()) refuse_value(where, "must be an array", json);
    std::vector<T> values;
    for (const Json& item : json) {
      values.push_back(Reading<T>::read(item, json_path(where, std::to_string(values.size()))));
    }
    return values;
  }
};

}  // namespace base
