// The resolved configuration that this program leaves beside a log.
// Hides the file's name.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace analysis {

/// "optimizer.name" and the value's text; empty where there is no result_<n>.config.json. Throws
/// DataError naming the file where it is damaged.
std::map<std::string, std::string> settings_beside(const std::filesystem::path& log);

}  // namespace analysis
