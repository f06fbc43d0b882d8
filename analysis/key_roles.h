// The role of each log key in the analysis.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace analysis {

struct KeyRole {
  std::size_t index = 0;        ///< from 0, in no particular order
  bool config = false;          ///< a report shows its first value
  bool setting = false;         ///< the audit looks at its values
  bool mark = false;            ///< the start or stop of an interval
  bool one_time = false;        ///< should be logged once
  bool metric = false;          ///< the result of an evaluation
  bool numbered = false;        ///< its records name their epoch
  std::string_view label;       ///< the metadata member with the epoch
  std::string_view event_type;  ///< that the key's name implies
};

/// Null for a key without a role.
const KeyRole* role_of(std::string_view key);
/// The number of keys with a role.
std::size_t role_count();

/// Whether `type` is one of the three event types.
bool is_event_type(std::string_view type);

/// The keys whose values the audit looks at, each once.
const std::vector<std::string_view>& setting_keys();

/// The configuration keys that a report shows.
const std::vector<std::string>& config_keys();

}  // namespace analysis
