// Small files beside results: descriptions, factors, options.
// Hides sizes, kinds of files and Python's JSON.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace analysis {

/// The text of a regular file of at most 16 MiB; nothing, with `problem`, if it cannot be read.
std::optional<std::string> read_side_text(const std::filesystem::path& path, std::string& problem);

/// The JSON object in `text`, read as Python's json module does: of members of one name the last
/// counts, NaN is a number. An empty object, with `problem`, where there is none.
nlohmann::json side_object(std::string_view text, std::string& problem);

/// The number scaling_factor of such an object; nothing, with `problem`, where there is none.
std::optional<double> scaling_factor(std::string_view text, std::string& problem);
std::optional<double> read_scaling_factor(const std::filesystem::path& path, std::string& problem);

}  // namespace analysis
