// The results of Python's operators on values in a log: true equals 1, 1 equals 1.0, and some
// operands cannot be compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mllog {
class JsonText;
}

namespace mllog::rules {

/// The result, or nothing if Python raises an exception: None > 0, len(5), "x" in 3.
using Answer = std::optional<bool>;

/// `one == other`. NaN equals NaN, because Python's json uses one NaN object.
bool python_equal(const JsonText& one, const JsonText& other);
/// `value == number`.
bool python_equals(const JsonText& value, double number);
/// `value == text`; `text` is UTF-8.
bool python_equals(const JsonText& value, std::string_view text);
/// A number, with true as 1 and false as 0; nothing for other kinds.
std::optional<double> python_number(const JsonText& value);
/// Whether the checker's is_integer() accepts it: within 1e-5 of an integer. Nothing if it is not
/// finite, for which round() raises an exception.
Answer python_is_integer(double value);
/// `bool(value)`.
bool python_truth(const JsonText& value);
/// `len(value)`: characters, items or members; nothing for a value without a length.
std::optional<std::int64_t> python_length(const JsonText& value);
/// `name in container`: a member's name, an item, or a substring.
Answer python_contains(const JsonText& container, std::string_view name);

}  // namespace mllog::rules
