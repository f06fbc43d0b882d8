// Writes JSON as Python's json.dumps does.
#include <charconv>
#include <cmath>

#include "runner/mllog/python_json.h"

namespace mllog {

namespace {

using OrderedJson = nlohmann::ordered_json;

/// As Python's repr: positional from 1e-4 up to 1e16, scientific elsewhere, always recognizable as
/// a float.
std::string format_double(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  const double size = std::abs(value);
  const bool positional = size == 0.0 || (size >= 1e-4 && size < 1e16);
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value,
                    positional ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, end);
  if (positional && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string format_string(const OrderedJson& value) {
  return value.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
}

void append(const OrderedJson& value, std::string& out) {
  if (value.is_object()) {
    out += '{';
    const char* separator = "";
    for (const auto& [key, member] : value.items()) {
      out += separator + format_string(key) + ": ";
      append(member, out);
      separator = ", ";
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    const char* separator = "";
    for (const OrderedJson& item : value) {
      out += separator;
      append(item, out);
      separator = ", ";
    }
    out += ']';
  } else if (value.is_number_float()) {
    out += format_double(value.get<double>());
  } else {
    out += format_string(value);
  }
}

}  // namespace

std::string to_python_json(const OrderedJson& value) {
  std::string out;
  append(value, out);
  return out;
}

}  // namespace mllog
