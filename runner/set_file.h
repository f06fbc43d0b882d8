// The definition of a run set: set.json next to its results.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace runner {

/// kTogether: all members train at the same time (weak scaling); kOneByOne: independently, in any
/// order.
enum class SetKind { kOneByOne, kTogether };
const char* to_string(SetKind kind);

struct SetDefinition {
  std::int64_t runs = 0;
  std::uint64_t master_seed = 0;  ///< 0, as requested: any
  SetKind kind = SetKind::kOneByOne;
  std::int64_t ranks = 1;  ///< of each member
  nlohmann::json config;   ///< resolved
  std::int64_t created_ms = 0;
};

std::string set_path(const std::string& folder);

/// Opens the set in `folder`. If there is none, creates `wanted` atomically for all hosts; a master
/// seed of 0 is replaced by one from the operating system. Throws ConfigError if the existing set
/// differs, naming the difference and the remedy, and DataError for a damaged file.
SetDefinition open_set(const std::string& folder, const SetDefinition& wanted);

/// The seed of `member`, which is in 1..runs.
std::uint64_t member_seed(const SetDefinition& set, std::int64_t member);

/// A nonzero 64-bit seed from the operating system.
std::uint64_t seed_from_system();

}  // namespace runner
