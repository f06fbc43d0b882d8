// Logs, read whole: from files and streams.
#pragma once

#include <filesystem>
#include <fstream>
#include <iosfwd>

#include "analysis/log_parser.h"

namespace analysis {

/// Reads the log in one pass, holding a few lines at a time. Damaged lines are findings. Throws
/// SystemError when it cannot be opened or read further.
ParsedLog parse_log(std::istream& in);
ParsedLog parse_log(const std::filesystem::path& path);

/// The file, to be read. Throws SystemError when it is none, or cannot be opened.
std::ifstream open_log(const std::filesystem::path& path);

}  // namespace analysis
