// A value from a log or a computed one: absent, boolean, number or text.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace analysis {

/// std::monostate is "absent". Lists and objects of a log are kept as their JSON text.
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

/// The value of a log record.
Value value_of(const nlohmann::json& value);
nlohmann::json to_json(const Value& value);

/// The members of an object at any depth, "machine.cpu" and to_text() of the value; lists are
/// values, null is left out.
std::vector<std::pair<std::string, std::string>> flat_members(const nlohmann::json& object);

/// For people: "" if absent, integers in full, other numbers with six significant digits.
std::string to_text(const Value& value);
/// For programs: "" if absent or not finite, numbers with all digits.
std::string to_exact_text(const Value& value);

/// The number in `value`, if it is one (true and false are none).
std::optional<double> number(const Value& value);

/// An integer if `value` is whole and fits 64 bits, else the double; absent stays absent.
Value whole_if_possible(const std::optional<double>& value);

/// above / below; absent if either is absent or `below` is 0.
std::optional<double> quotient(const std::optional<double>& above,
                               const std::optional<double>& below);

template <class T>
Value optional_value(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

}  // namespace analysis
