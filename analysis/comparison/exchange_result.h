// Compares results of `bench exchange`: which of two machines or builds exchanges faster, size by
// size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/comparison/significance.h"

namespace analysis::comparison {

/// Times of one collective at one size, by training's code or by MPI.
struct ExchangeTimes {
  std::vector<double> seconds;   ///< of each call
  double bus_bytes_per_s = 0.0;  ///< as the file has it
};

/// What names a row in all files, and the order of reports.
struct ExchangeKey {
  std::string operation;
  std::int64_t bytes = 0;
  std::string side;  ///< "training" or "mpi"
  auto operator<=>(const ExchangeKey&) const = default;
};

/// The part of a file of `trainmark bench exchange --json` that a comparison needs.
struct ExchangeResult {
  std::string name;  ///< of the file
  std::map<ExchangeKey, ExchangeTimes> rows;
  std::map<std::string, std::string> conditions;  ///< ranks, nodes, threads: should be equal
};

/// nullopt if `text` is JSON of another kind. Throws DataError, naming `name` and the member, if it
/// is damaged, or says that it cannot be trusted.
std::optional<ExchangeResult> parse_exchange(std::string_view text, const std::string& name);

struct ExchangeDifference {
  ExchangeKey key;
  double first_s = 0.0, second_s = 0.0;  ///< medians
  double first_bus_bytes_per_s = 0.0, second_bus_bytes_per_s = 0.0;
  double ratio = 1.0;  ///< first_s / second_s
  /// Permutation test of log(seconds), adjusted for all rows (Holm). None where so few calls could
  /// not be told apart.
  std::optional<double> p_value;
  bool distinguishable = false;  ///< p_value < kLevel
  bool is_faster = false;        ///< the second, by the mean of log(seconds)
};

struct ExchangeComparison {
  std::vector<ExchangeDifference> rows;          ///< of what both files have, by key
  std::int64_t only_first = 0, only_second = 0;  ///< rows of one file alone
  std::vector<std::string> differences;          ///< conditions that differ, "ranks: 2 and 4"
};

/// Deterministic for a given seed. Throws ConfigError if the two have no row in common.
ExchangeComparison compare_exchanges(const ExchangeResult& first, const ExchangeResult& second,
                                     std::uint64_t seed);

}  // namespace analysis::comparison
