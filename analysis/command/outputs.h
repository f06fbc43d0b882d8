// Output files of commands.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace analysis::command {

/// The file name that means standard output.
inline constexpr char kStandardOutput[] = "-";

struct OutputFile {
  std::filesystem::path path;
  std::string content;
};

/// Checks the output options, pairs of name and value; unused ones have the value "". Throws
/// ConfigError for "-", which only --json and --plot accept, and for two options that name the same
/// file.
void require_files(const std::vector<std::pair<std::string, std::string>>& options);

/// Throws ConfigError if `output` is one of the files in `read`, or lies in one of its folders: a
/// report must never overwrite an input.
void refuse_to_overwrite(const std::filesystem::path& output,
                         const std::vector<std::filesystem::path>& read);

/// Files are written before the text: a reader of it that ends early, such as `head`, then costs
/// none of them.
/// Flushes `out`. Throws SystemError if something could not be printed.
void end_output(std::ostream& out);

/// Writes the files, and names each on `messages` unless `quiet`.
void write_files(const std::vector<OutputFile>& files, std::ostream& messages, bool quiet);

}  // namespace analysis::command
