// Reads small files next to results: descriptions, factors, options.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace analysis {

/// The text of a regular file of at most 16 MiB; absent, with `problem` set, if it cannot be read.
std::optional<std::string> read_side_text(const std::filesystem::path& path, std::string& problem);

/// The JSON object in `text`, read as Python's json module does: the last of members with one name
/// counts, NaN is a number. An empty object, with `problem` set, if `text` is not one, or begins
/// with a byte order mark, which that module refuses.
nlohmann::json side_object(std::string_view text, std::string& problem);

/// Members that an object of `text`, which is such an object, has twice, each with both places:
/// "number_of_nodes: given twice, in line 6, column 2 and in line 7, column 2; the last one
/// counts".
std::vector<std::string> repeated_members(std::string_view text);

/// The number scaling_factor of such an object; absent, with `problem` set, if there is none.
std::optional<double> scaling_factor(const nlohmann::json& object, std::string& problem);
/// The same of the text of such an object.
std::optional<double> read_scaling_factor(std::string_view text, std::string& problem);

}  // namespace analysis
