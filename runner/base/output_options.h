// Checks what a command writes: the options that name its files, and standard output.
#pragma once

#include <filesystem>
#include <ostream>
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

/// Flushes `out`. Throws SystemError if something that was printed is lost, also what C printed if
/// `out` is std::cout.
void end_output(std::ostream& out);

}  // namespace base
