// Configuration keys and values renamed since the previous version; one release accepts both names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace runner {

/// Renames old keys and values in `config`, read from `file`, and returns a warning for each:
/// "small.json: /training/bn_group_size: is called bn_group_samples now, ...". Throws ConfigError
/// if a key is present under both names.
std::vector<std::string> rename_old_keys(nlohmann::json& config, const std::string& file);

}  // namespace runner
