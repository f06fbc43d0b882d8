// The sizes that are measured, and how users write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace exchange_bench {

/// Bytes. By `factor`, or by `step` if that is not 0.
struct Sizes {
  std::int64_t least = 8, most = std::int64_t{64} << 20;
  std::int64_t factor = 2, step = 0;
};
inline constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;

/// "8", "64K", "4G": units of 1024. Throws ConfigError that begins with `option` for anything else,
/// and for a number outside of [1, kMostBytes].
std::int64_t parse_size(const std::string& option, const std::string& text);

/// Increasing multiples of `unit` bytes: those of `sizes`, rounded down, or `unit` if that gives 0.
/// Throws ConfigError for a range that has none, or more than 10,000; for fewer with a larger unit.
std::vector<std::int64_t> list_sizes(const Sizes& sizes, std::int64_t unit);

}  // namespace exchange_bench
