// Keys of configurations that had another name in the version before; one release takes both.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace runner {

/// Gives keys of `config`, which `file` has, the names of today, and returns a warning for each:
/// "small.json: /training/bn_group_size: is called bn_group_samples now, ...". Throws ConfigError
/// where a key stands there under both names.
std::vector<std::string> rename_old_keys(nlohmann::json& config, const std::string& file);

}  // namespace runner
