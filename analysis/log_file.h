// Parses whole logs from files and streams.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "analysis/log_parser.h"
#include "runner/base/input_file.h"

namespace analysis {

/// Reads the log in one pass, holding a few lines at a time. Damaged lines become findings.
/// Throws SystemError if the log cannot be opened or read.
ParsedLog parse_log(std::istream& in);
ParsedLog parse_log(const std::filesystem::path& path);

/// Opens a file for reading. Throws SystemError if it is not a regular file or cannot be opened.
base::InputFile open_log(const std::filesystem::path& path);

}  // namespace analysis
