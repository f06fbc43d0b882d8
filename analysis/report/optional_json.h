// What may be absent, as JSON.
// Hides nothing.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace analysis::report {

/// null for what is absent; a number that is not finite becomes null when it is written.
template <class T>
nlohmann::ordered_json optional_json(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace analysis::report
