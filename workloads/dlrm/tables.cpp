// Parses table sizes.
#include "workloads/dlrm/tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "runner/base/error.h"

namespace dlrm {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Ids are int32.
constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();

/// Numbers of distinct ids in the Criteo Terabyte logs, modulo 40,000,000.
const Sizes& criteo() {
  static const Sizes sizes = {39884406, 39043,  17289,    7420,    20263,  3,        7120,
                              1543,     63,     38532951, 2953546, 403346, 10,       2208,
                              11938,    155,    4,        976,     14,     39979771, 25641295,
                              39664984, 585935, 12972,    108,     36};
  return sizes;
}

const Sizes& small() {
  static const Sizes sizes = {2000, 200, 150, 100, 120, 3,  80,   40,   20,   1800, 900, 400, 10,
                              100,  150, 60,  4,   50,  14, 2000, 1500, 1800, 450,  110, 50,  30};
  return sizes;
}

std::int64_t parse_number(std::string_view text, const std::string& whole,
                          const std::string& where) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 1 ||
      value > kMostRows) {
    throw base::ConfigError(
        fmt::format("{}: expected criteo, small, capped:ROWS, or sizes such as 3,5,2, of 1 to {} "
                    "rows; got '{}'",
                    where, kMostRows, whole));
  }
  return value;
}

}  // namespace

std::vector<std::int64_t> parse_tables(const std::string& text, const std::string& where) {
  constexpr std::string_view kCapped = "capped:";
  if (text == "criteo") return criteo();
  if (text == "small") return small();
  if (text.starts_with(kCapped)) {
    const std::int64_t cap =
        parse_number(std::string_view(text).substr(kCapped.size()), text, where);
    Sizes sizes = criteo();
    for (std::int64_t& size : sizes) size = std::min(size, cap);
    return sizes;
  }
  Sizes sizes;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    sizes.push_back(parse_number(rest.substr(0, comma), text, where));
    if (comma == std::string_view::npos) return sizes;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace dlrm
