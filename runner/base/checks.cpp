// Common conditions on configuration values and their wording.
#include <fmt/format.h>

#include <cstddef>

#include "runner/base/object_reader.h"

namespace base {
namespace {

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace

Check<double> positive() {
  return {"must be positive", [](const double& v) { return v > 0.0; }};
}

Check<double> not_negative() {
  return {"must not be negative", [](const double& v) { return v >= 0.0; }};
}

Check<double> between(double low, double high) {
  return {"must be between " + fmt::format("{}", low) + " and " + fmt::format("{}", high),
          [=](const double& v) { return v >= low && v <= high; }};
}

Check<std::int64_t> at_least(std::int64_t low) {
  return {"must be at least " + std::to_string(low),
          [=](const std::int64_t& v) { return v >= low; }};
}

Check<std::int64_t> within(std::int64_t low, std::int64_t high) {
  return {"must be between " + std::to_string(low) + " and " + std::to_string(high),
          [=](const std::int64_t& v) { return v >= low && v <= high; }};
}

Check<std::string> not_empty() {
  return {"must not be empty", [](const std::string& v) { return !v.empty(); }};
}

Check<std::string> whole_path() {
  constexpr const char* kMeaning =
      "must be a path as it is; ~ and variables are not expanded here, but --set KEY=VALUE takes "
      "what a shell expands";
  return {kMeaning, [](const std::string& v) {
            const std::size_t dollar = v.find('$');
            const bool names_variable =
                dollar != std::string::npos && dollar + 1 < v.size() &&
                (v[dollar + 1] == '{' || v[dollar + 1] == '_' || is_letter(v[dollar + 1]));
            return !v.empty() && v != "~" && !v.starts_with("~/") && !names_variable;
          }};
}

}  // namespace base
