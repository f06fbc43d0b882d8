// What may be absent, and objects of many members, as JSON.
#pragma once

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace analysis::report {

/// null for what is absent; a number that is not finite becomes null when it is written.
template <class T>
nlohmann::ordered_json optional_json(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// An object with room: an ordered one copies all that it holds whenever it grows.
inline nlohmann::ordered_json roomy_object(std::size_t members) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  object.get_ref<nlohmann::ordered_json::object_t&>().reserve(members);
  return object;
}

/// An object with a member for each of many things: an ordered one looks through all its members
/// for a name.
class LargeObject {
 public:
  explicit LargeObject(std::size_t members) { members_.reserve(members); }
  /// The last of a name wins.
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
