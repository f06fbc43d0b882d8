// Writes a whole file or nothing.
// Hides the making of folders.
#pragma once

#include <filesystem>
#include <string_view>

namespace analysis::report {

/// base::write_file, but makes the folder when it is missing. Throws SystemError with the path and
/// the reason.
void write_output_file(const std::filesystem::path& path, std::string_view content);

}  // namespace analysis::report
