// A value from a log or a computed one.
#include "analysis/value.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace analysis {
namespace {

constexpr double kLargestPlain = 1e15;  ///< whole doubles above are shown with an exponent

std::string double_text(double value) {
  if (std::floor(value) == value && std::abs(value) < kLargestPlain) {
    return fmt::format("{:.0f}", value);
  }
  return fmt::format("{:.6g}", value);
}

void flatten(const nlohmann::json& value, const std::string& path,
             std::vector<std::pair<std::string, std::string>>& flat) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      flatten(member, path.empty() ? key : path + "." + key, flat);
    }
  } else if (!value.is_null()) {
    flat.emplace_back(path, to_text(value_of(value)));
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> flat_members(const nlohmann::json& object) {
  std::vector<std::pair<std::string, std::string>> flat;
  flatten(object, "", flat);
  return flat;
}

Value value_of(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null:
      return {};
    case nlohmann::json::value_t::boolean:
      return value.get<bool>();
    case nlohmann::json::value_t::number_integer:
      return value.get<std::int64_t>();
    case nlohmann::json::value_t::number_unsigned: {
      const auto number = value.get<std::uint64_t>();
      if (std::in_range<std::int64_t>(number)) return static_cast<std::int64_t>(number);
      return number;
    }
    case nlohmann::json::value_t::number_float:
      return value.get<double>();
    case nlohmann::json::value_t::string:
      return value.get<std::string>();
    default:
      return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

nlohmann::json to_json(const Value& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

std::string to_text(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Held, double>) {
          return double_text(held);
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

std::string to_exact_text(const Value& value) {
  if (const double* held = std::get_if<double>(&value)) {
    return std::isfinite(*held) ? fmt::format("{}", *held) : "";
  }
  return to_text(value);
}

Value whole_if_possible(const std::optional<double>& value) {
  if (!value) return {};
  constexpr double kBeyondInt64 = 9.2e18;
  const bool fits = std::abs(*value) < kBeyondInt64;
  if (fits && std::floor(*value) == *value) return static_cast<std::int64_t>(*value);
  return *value;
}

std::optional<double> number(const Value& value) {
  if (const auto* held = std::get_if<std::int64_t>(&value)) return static_cast<double>(*held);
  if (const auto* held = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*held);
  if (const auto* held = std::get_if<double>(&value)) return *held;
  return std::nullopt;
}

std::optional<double> quotient(const std::optional<double>& above,
                               const std::optional<double>& below) {
  if (!above || !below || *below == 0.0) return std::nullopt;
  return *above / *below;
}

}  // namespace analysis
