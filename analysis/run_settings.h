// Reads the resolved configuration that this program writes next to a log.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace analysis {

/// Maps names such as "optimizer.name" to the text of their values. Empty if there is no
/// result_<n>.config.json. Throws DataError, naming the file, if it is damaged.
std::map<std::string, std::string> read_settings_of(const std::filesystem::path& log);

}  // namespace analysis
