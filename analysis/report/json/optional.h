// Optional values and objects of many members as JSON.
#pragma once

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace analysis::report {

/// `value`, or null if absent. A number that is not finite becomes null when it is written.
template <class T>
nlohmann::ordered_json optional_json(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// An empty object with memory reserved for `members`: an ordered object copies all of its members
/// whenever it grows.
inline nlohmann::ordered_json roomy_object(std::size_t members) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  object.get_ref<nlohmann::ordered_json::object_t&>().reserve(members);
  return object;
}

/// Builds an object of many members. Finds names by hashing; an ordered object searches all of its
/// members.
class LargeObject {
 public:
  explicit LargeObject(std::size_t members) { members_.reserve(members); }
  /// A second value for a name replaces the first.
  void set(std::string name, nlohmann::ordered_json value) {
    const auto [place, is_new] = places_.emplace(name, std::ssize(members_));
    if (is_new) {
      members_.emplace_back(std::move(name), std::move(value));
    } else {
      (members_.begin() + place->second)->second = std::move(value);
    }
  }
  nlohmann::ordered_json take() && { return std::move(members_); }

 private:
  nlohmann::ordered_json::object_t members_;
  std::unordered_map<std::string, std::ptrdiff_t> places_;
};

}  // namespace analysis::report
