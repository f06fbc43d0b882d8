// Writes a whole file or nothing.
#pragma once

#include <filesystem>
#include <string_view>

namespace analysis::report {

/// Like base::write_file, but creates missing folders. Throws SystemError with the path and the
/// reason.
void write_output_file(const std::filesystem::path& path, std::string_view content);

}  // namespace analysis::report
