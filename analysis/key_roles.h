// What the keys of a log mean to its reader.
// Hides the lists of keys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace analysis {

struct KeyRole {
  std::size_t index = 0;        ///< from 0, in no order
  bool config = false;          ///< a report shows its first value
  bool setting = false;         ///< the audit looks at its values
  bool mark = false;            ///< the start or stop of an interval
  bool one_time = false;        ///< logged once by a careful program
  bool metric = false;          ///< an evaluation
  bool numbered = false;        ///< says which epoch it belongs to
  std::string_view label;       ///< the metadata member with its number
  std::string_view event_type;  ///< as its name asks for
};

/// Null for a key that means nothing.
const KeyRole* role_of(std::string_view key);
/// How many keys have a role.
std::size_t role_count();

/// Whether `type` is one of the three that there are.
bool is_event_type(std::string_view type);

/// The keys whose values the audit looks at, each once.
const std::vector<std::string_view>& setting_keys();

/// The configuration keys that a report shows.
const std::vector<std::string>& config_keys();

}  // namespace analysis
