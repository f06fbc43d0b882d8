// Checks the options of a command that name its output files.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace base {

/// Checks the output options, pairs of name and value; unused ones have the value "". Throws
/// ConfigError for "-", which only --json and --plot accept, and for two options that name the same
/// file.
void require_files(const std::vector<std::pair<std::string, std::string>>& options);

/// Throws ConfigError if `output` is one of the files in `read`, or lies in one of its folders: an
/// output must never overwrite an input.
void refuse_to_overwrite(const std::filesystem::path& output,
                         const std::vector<std::filesystem::path>& read);

}  // namespace base
