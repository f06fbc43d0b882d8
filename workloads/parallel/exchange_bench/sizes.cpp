// The sizes that are measured.
#include "workloads/parallel/exchange_bench/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>

#include "runner/base/error.h"
#include "runner/base/printable.h"

namespace exchange_bench {
namespace {

/// Bits of a unit; -1 for none that is known.
int shift_of(std::string unit) {
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  if (unit.empty() || unit == "B") return 0;
  if (unit == "K" || unit == "KB" || unit == "KIB") return 10;
  if (unit == "M" || unit == "MB" || unit == "MIB") return 20;
  if (unit == "G" || unit == "GB" || unit == "GIB") return 30;
  return -1;
}

}  // namespace

std::int64_t parse_size(const std::string& option, const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const int shift = error == std::errc() ? shift_of(std::string(rest, end)) : -1;
  if (shift < 0 || number < 1 || number > kMostBytes >> shift) {
    throw base::ConfigError(
        fmt::format("bench exchange: {}: expected bytes from 1 to 4G, such as 8, 64K or 1G, got "
                    "'{}'",
                    option, base::printable(text)));
  }
  return number << shift;
}

std::vector<std::int64_t> list_sizes(const Sizes& sizes, std::int64_t unit) {
  constexpr std::size_t kMost = 10'000;
  if (sizes.least > sizes.most) {
    throw base::ConfigError(
        fmt::format("bench exchange: --minbytes: must not exceed --maxbytes, {}, got {}",
                    sizes.most, sizes.least));
  }
  std::vector<std::int64_t> listed;
  for (std::int64_t size = sizes.least; size <= sizes.most;
       size = sizes.step > 0 ? size + sizes.step : size * sizes.factor) {
    const std::int64_t rounded = std::max(size / unit, std::int64_t{1}) * unit;
    if (listed.empty() || listed.back() != rounded) listed.push_back(rounded);
    if (listed.size() > kMost) {
      throw base::ConfigError(
          fmt::format("bench exchange: --stepbytes: expected at most {} sizes from {} to {}, got "
                      "more by steps of {}",
                      kMost, sizes.least, sizes.most, sizes.step));
    }
  }
  return listed;
}

}  // namespace exchange_bench
