// Writes a whole file or nothing.
// Hides the temporary file.
#pragma once

#include <filesystem>
#include <string_view>

namespace analysis {

/// Makes the folder when it is missing, writes beside `path`, and renames. Throws SystemError with
/// the path and the reason; then `path` is as it was.
void write_output_file(const std::filesystem::path& path, std::string_view content);

}  // namespace analysis
