// The record formats of log files by round.
#pragma once

#include <cstdint>
#include <string_view>

namespace mllog {

/// The record format of a log.
enum class LogFormat : std::uint8_t {
  kMllog,   ///< ":::MLLOG {...}": Training since 0.7, HPC
  kMll,     ///< ":::MLL SECONDS KEY: {...}": Training 0.6
  kMlpV05,  ///< ":::MLPv0.5.0 BENCHMARK SECONDS (FILE:LINE) KEY: VALUE": Training 0.5
};

/// The beginning of the tokens of all formats.
inline constexpr std::string_view kTokenBegin = ":::ML";

/// The token at the beginning of a record: ":::MLLOG".
constexpr std::string_view token_of(LogFormat format) {
  switch (format) {
    case LogFormat::kMll:
      return ":::MLL";
    case LogFormat::kMlpV05:
      return ":::MLPv0.5";
    default:
      return ":::MLLOG";
  }
}

}  // namespace mllog
