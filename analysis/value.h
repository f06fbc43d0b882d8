// A value as a log gives it or an analysis computes it: absent, truth, number or text.
// Hides how JSON keeps numbers apart.
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
Value value_of(const nlohmann::json& json);
nlohmann::json to_json(const Value& value);

/// The members of an object at any depth, "machine.cpu" and to_text() of the value; lists are
/// values, null is left out.
std::vector<std::pair<std::string, std::string>> flat_members(const nlohmann::json& object);

/// As a person reads it: "" when absent, integers whole, others with six significant digits.
std::string to_text(const Value& value);
/// As a program reads it: "" when absent or not finite, numbers with all their digits.
std::string to_exact_text(const Value& value);

/// The number in `value`, if it is one (true and false are none).
std::optional<double> number(const Value& value);

/// A whole number where `value` is one that 64 bits hold, else the double; absent stays absent.
Value whole_if_possible(const std::optional<double>& value);

/// Absent where either is, or the divisor is 0.
std::optional<double> quotient(const std::optional<double>& above,
                               const std::optional<double>& below);

/// An optional as a Value.
template <class T>
Value optional_value(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

}  // namespace analysis
