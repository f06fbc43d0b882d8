// What a run set is: set.json beside its results.
// Hides the file's layout, and which keys of a configuration may differ between its members.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace runner {

/// kTogether: all members train at the same time (weak scaling); else in any order.
enum class SetKind { kOneByOne, kTogether };
const char* to_string(SetKind kind);

struct SetDefinition {
  std::int64_t runs = 0;
  std::uint64_t master_seed = 0;  ///< 0, wanted: any
  SetKind kind = SetKind::kOneByOne;
  std::int64_t ranks = 1;  ///< of each member
  nlohmann::json config;   ///< resolved
  std::int64_t created_ms = 0;
};

std::string set_path(const std::string& folder);

/// The set in `folder`: the one that is there, or `wanted`, which is then created for all hosts, a
/// master seed of 0 replaced by one of the operating system's. Throws ConfigError where the one
/// that is there is another, naming the difference and what to do; DataError for a damaged file.
SetDefinition open_set(const std::string& folder, const SetDefinition& wanted);

/// The seed of member 1..runs.
std::uint64_t member_seed(const SetDefinition& set, std::int64_t member);

/// 64 bits of the operating system's, not 0.
std::uint64_t seed_from_system();

}  // namespace runner
