// The results of Python's operators on values in a log, including integers beyond 64 bits.
#include "runner/mllog/rules/python_value.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "runner/mllog/python_json.h"

namespace mllog::rules {
namespace {

using Json = nlohmann::json;

/// Compares integer and double without rounding the integer.
bool same_number(std::int64_t integer, double real) {
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  if (!(real >= -kBeyond && real < kBeyond)) return false;
  return real == std::floor(real) && static_cast<std::int64_t>(real) == integer;
}

bool is_number(const Json& value) { return value.is_number() || value.is_boolean(); }

/// The value of a number or truth value that is an integer of 64 bits; else nothing.
std::optional<std::int64_t> integer_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return {};
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return {};
}

bool same_number(const Json& one, const Json& other) {
  const auto a = integer_of(one);
  const auto b = integer_of(other);
  if (a && b) return *a == *b;
  if (a) return other.is_number_float() && same_number(*a, other.get<double>());
  if (b) return one.is_number_float() && same_number(*b, one.get<double>());
  if (!one.is_number_float() && !other.is_number_float()) {
    return one.get<std::uint64_t>() == other.get<std::uint64_t>();
  }
  const auto x = one.get<double>();
  const auto y = other.get<double>();
  return x == y || (std::isnan(x) && std::isnan(y));
}

bool same_value(const Json& one, const Json& other);

bool same_object(const Json& one, const Json& other) {
  return one.size() == other.size() &&
         std::all_of(one.items().begin(), one.items().end(), [&](const auto& member) {
           const auto found = other.find(member.key());
           return found != other.end() && same_value(member.value(), *found);
         });
}

bool same_value(const Json& one, const Json& other) {
  if (is_number(one) && is_number(other)) return same_number(one, other);
  if (one.is_array() && other.is_array()) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), same_value);
  }
  if (one.is_object() && other.is_object()) return same_object(one, other);
  return one == other;
}

bool is_integer_text(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char digit) { return digit >= '0' && digit <= '9'; });
}

/// Decoding would round such an integer to a double.
bool is_beyond_64_bits(std::string_view text) {
  constexpr std::size_t kSafeDigits = 18;
  return text.size() > kSafeDigits && is_integer_text(text);
}

/// Length in Python, which reads a log as Latin-1: each byte or escape is one character.
std::int64_t length_of_string(std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  std::int64_t length = 0;
  for (std::size_t at = 0; at < text.size(); ++length) {
    if (text[at] != '\\') {
      ++at;
    } else if (text[at + 1] != 'u') {
      at += 2;
    } else {
      const auto is_half = [&](std::size_t from, std::string_view thirds) {
        return from + 6 <= text.size() && text[from] == '\\' && text[from + 1] == 'u' &&
               (text[from + 2] == 'd' || text[from + 2] == 'D') &&
               thirds.find(text[from + 3]) != std::string_view::npos;
      };
      const bool pair = is_half(at, "89abAB") && is_half(at + 6, "cdefCDEF");
      at += pair ? 12 : 6;
    }
  }
  return length;
}

}  // namespace

bool python_equal(const JsonText& one, const JsonText& other) {
  if (one.text() == other.text()) return true;
  const bool integers = is_integer_text(one.text()) && is_integer_text(other.text());
  if (integers && (is_beyond_64_bits(one.text()) || is_beyond_64_bits(other.text()))) {
    return false;  // equal integers have the same text
  }
  return same_value(one.decoded(), other.decoded());
}

std::optional<double> python_number(const JsonText& value) {
  if (value.text() == "true") return 1.0;
  if (value.text() == "false") return 0.0;
  return value.number();
}

bool python_equals(const JsonText& value, double number) {
  const std::optional<double> found = python_number(value);
  return found && *found == number;
}

bool python_equals(const JsonText& value, std::string_view text) {
  if (!value.is_string()) return false;
  const std::string_view inside = value.text().substr(1, value.text().size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside == text;
  return value.string() == text;
}

Answer python_is_integer(double value) {
  constexpr double kTolerance = 1e-5;
  if (!std::isfinite(value)) return {};
  return std::abs(std::nearbyint(value) - value) < kTolerance;
}

bool python_truth(const JsonText& value) {
  if (value.is_absent() || value.is_null() || value.text() == "false") return false;
  if (value.is_number()) return value.number() != 0.0;  // NaN is true
  if (value.is_string()) return value.text().size() > 2;
  if (value.text() == "true") return true;
  return python_length(value) != 0;
}

std::optional<std::int64_t> python_length(const JsonText& value) {
  if (value.is_string()) return length_of_string(value.text());
  if (!value.is_object() && !value.text().starts_with('[')) return {};
  return static_cast<std::int64_t>(value.decoded().size());
}

Answer python_contains(const JsonText& container, std::string_view name) {
  if (container.is_object()) return !container.member(name).is_absent();
  if (const auto string = container.string()) return string->find(name) != std::string::npos;
  if (!container.text().starts_with('[')) return {};
  const Json items = container.decoded();
  return std::any_of(items.begin(), items.end(), [&](const Json& item) {
    return item.is_string() && item.get_ref<const std::string&>() == name;
  });
}

}  // namespace mllog::rules
