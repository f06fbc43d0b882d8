// What goes where: files that commands write, beside what they print.
// Hides how a path is found to be one that is read.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace analysis::command {

/// What stands for standard output among the files to write.
inline constexpr char kStandardOutput[] = "-";

struct OutputFile {
  std::filesystem::path path;
  std::string content;
};

/// Throws ConfigError for "-", which only JSON and plots may be, and for two options that name one
/// file. Unused options are "".
void require_files(const std::vector<std::pair<std::string, std::string>>& options);

/// What is read must never be replaced by a report about it. Throws ConfigError for a path that is
/// one of the files, or lies in one of the folders, in `read`.
void refuse_to_overwrite(const std::filesystem::path& output,
                         const std::vector<std::filesystem::path>& read);

/// Flushes what was printed; throws SystemError when it could not be.
void end_output(std::ostream& out);

/// Writes the files, and names each on `people` unless `quiet`.
void write_files(const std::vector<OutputFile>& files, std::ostream& people, bool quiet);

}  // namespace analysis::command
