// Patterns that expand to several names.
#include "runner/mllog/rules/name_pattern.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "runner/base/error.h"

namespace mllog::rules {
namespace {

using base::ConfigError;
using Texts = std::vector<std::string>;

/// The expansion of one item between braces: "3..5" gives 3, 4 and 5, "b" gives b.
Texts alternatives(const std::string& item, const std::string& where) {
  constexpr std::int64_t kMostNames = 1000;
  const std::size_t dots = item.find("..");
  if (dots == std::string::npos) return {item};
  const auto number = [&](std::size_t begin, std::size_t end) {
    std::int64_t value = -1;
    const char* const last = item.data() + end;
    const auto [stopped, failed] = std::from_chars(item.data() + begin, last, value);
    const bool is_number = failed == std::errc() && stopped == last;
    if (!is_number || value < 0) throw ConfigError(where + ": must be like 0..3, got " + item);
    return value;
  };
  const std::int64_t first = number(0, dots);
  const std::int64_t last = number(dots + 2, item.size());
  if (last < first || last - first >= kMostNames) {
    throw ConfigError(where + ": stands for none or too many names: " + item);
  }
  Texts names;
  for (std::int64_t i = first; i <= last; ++i) names.push_back(std::to_string(i));
  return names;
}

void expand(const std::string& pattern, const std::string& where, Texts& names) {
  constexpr std::size_t kMostNames = 10'000;
  const std::size_t open = pattern.find('{');
  if (open == std::string::npos) {
    if (names.size() == kMostNames) throw ConfigError(where + ": stands for too many names");
    names.push_back(pattern);
    return;
  }
  const std::size_t close = pattern.find('}', open);
  if (close == std::string::npos) throw ConfigError(where + ": { without } in " + pattern);
  for (std::size_t at = open + 1; at <= close;) {
    const std::size_t end = std::min(pattern.find(',', at), close);
    for (const std::string& name : alternatives(pattern.substr(at, end - at), where)) {
      expand(pattern.substr(0, open) + name + pattern.substr(close + 1), where, names);
    }
    at = end + 1;
  }
}

}  // namespace

Texts expanded(const std::string& pattern, const std::string& where) {
  Texts names;
  expand(pattern, where, names);
  return names;
}

}  // namespace mllog::rules
