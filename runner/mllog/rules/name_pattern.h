// Patterns that expand to several names.
#pragma once

#include <string>
#include <vector>

namespace mllog::rules {

/// "a{1,2}_{3..5}" gives a1_3, a1_4, a1_5, a2_3, a2_4, a2_5. Throws ConfigError with `where` for a
/// malformed pattern and for more than 10,000 names.
std::vector<std::string> expanded(const std::string& pattern, const std::string& where);

}  // namespace mllog::rules
