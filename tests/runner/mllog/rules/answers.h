// Answers to conditions of rules, for tests.
#pragma once

#include <optional>

#include "runner/mllog/rules/python_value.h"

namespace made {

inline constexpr mllog::rules::Answer kCannotTell = std::nullopt;

}  // namespace made
