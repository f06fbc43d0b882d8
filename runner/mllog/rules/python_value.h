// What Python's operators say of values in a log.
// Hides the kinds of JSON: that true is 1, that 1 is 1.0, and what cannot be compared at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mllog {
class JsonText;
}

namespace mllog::rules {

/// An answer, or nothing where Python raises an exception: None > 0, len(5), "x" in 3.
using Answer = std::optional<bool>;

/// `one == other`. NaN equals NaN, as it is one object in Python's json.
bool python_equal(const JsonText& one, const JsonText& other);
/// `value == number`.
bool python_equals(const JsonText& value, double number);
/// `value == text`; `text` is UTF-8.
bool python_equals(const JsonText& value, std::string_view text);
/// A number, with true as 1 and false as 0; nothing for what no number can be compared with.
std::optional<double> python_number(const JsonText& value);
/// Whether the checker's is_integer() takes it for one: within 1e-5. Its round() raises an
/// exception for what is not finite.
Answer python_is_integer(double value);
/// `bool(value)`.
bool python_truth(const JsonText& value);
/// `len(value)`: characters, items or members; nothing for what has no length.
std::optional<std::int64_t> python_length(const JsonText& value);
/// `name in container`: a member's name, an item, or a part of a string.
Answer python_contains(const JsonText& container, std::string_view name);

}  // namespace mllog::rules
