// Typed, checked reading of a JSON object. Records what was read, which gives the resolved
// configuration and its schema, and detects unknown keys.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace base {

/// A condition on a value and the words for it: {"must be positive", [](T v) {...}}.
template <class T>
struct Check {
  std::string expectation;
  std::function<bool(const T&)> holds;
};

Check<double> positive();
Check<double> not_negative();
Check<double> between(double low, double high);
Check<std::int64_t> at_least(std::int64_t low);
Check<std::int64_t> within(std::int64_t low, std::int64_t high);
Check<std::string> not_empty();
/// A path as it is: neither empty nor with ~ or $VARIABLE, which only a shell expands.
Check<std::string> whole_path();

/// One JSON object of a configuration with its file and path. Every read checks kind and range,
/// marks the key as known, and records value, type, default and help for `resolved()` and
/// `schema()`. Errors are ConfigErrors such as `small.json: /optimizer/learning_rate: must be
/// positive, got -1`. T is one of bool, std::int64_t, std::uint64_t, double, std::string,
/// std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>. An integer refuses
/// 64.7; a double accepts integers, but no NaN. A default must pass its own check (Error(kInternal)
/// otherwise), so that the resolved configuration can be read again.
class ObjectReader {
 public:
  /// The root object; `file` appears in messages. Throws ConfigError if `object` is not a JSON
  /// object.
  ObjectReader(const nlohmann::json& object, std::string file);

  template <class T>
  T required(const std::string& key, const std::string& help, const Check<T>& check = {}) const;

  template <class T>
  T optional(const std::string& key, T fallback, const std::string& help,
             const Check<T>& check = {}) const;

  /// One of the named choices. Another value is refused with the list and the nearest name. If
  /// `fallback` is not one of the choices, the key is required.
  template <class E>
  E choice(const std::string& key, const E& fallback,
           const std::vector<std::pair<std::string, E>>& choices, const std::string& help) const {
    std::vector<std::string> names;
    std::string fallback_name;
    for (const auto& [name, value] : choices) {
      names.push_back(name);
      if (value == fallback) fallback_name = name;
    }
    return choices[choice_index(key, fallback_name, names, help)].second;
  }

  /// The object under `key`. An absent key reads as an empty object, so that defaults apply.
  ObjectReader object(const std::string& key, const std::string& help) const;
  /// The objects of the array under `key`, in order; empty if the key is absent.
  std::vector<ObjectReader> objects(const std::string& key, const std::string& help) const;
  bool has(const std::string& key) const;
  /// "small.json: /optimizer"; for messages of checks across keys.
  std::string where() const;
  std::string where(const std::string& key) const;

  /// Throws ConfigError for the first key that was never read, in this object or below it, naming
  /// the nearest known key.
  void reject_unknown() const;
  /// The values read so far, defaults included, with this object as root.
  nlohmann::json resolved() const;
  /// JSON Schema (draft 7) of the keys read so far, with this object as root.
  nlohmann::json schema() const;

 private:
  struct Node;
  ObjectReader(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  std::size_t choice_index(const std::string& key, const std::string& fallback,
                           const std::vector<std::string>& names, const std::string& help) const;
  std::shared_ptr<Node> node_;
};

/// The text of a configuration file. Throws ConfigError with path and reason.
std::string config_text(const std::string& path);

/// The configuration in `path`: JSON with // comments allowed, duplicate keys refused, then each
/// `a.b=value` of `overrides` applied (value read as JSON, else as a string). Throws ConfigError
/// with line and column.
nlohmann::json load_config(const std::string& path, const std::vector<std::string>& overrides);

/// The candidate with the smallest edit distance to `name`, or "" when none is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace base
