// Output files of commands.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "runner/base/output_options.h"

namespace analysis::command {

/// The file name that means standard output.
inline constexpr char kStandardOutput[] = "-";

struct OutputFile {
  std::filesystem::path path;
  std::string content;
};

using base::end_output;
using base::refuse_to_overwrite;
using base::require_files;

/// The logs and what must not be overwritten with them: telemetry, trace, configuration, live
/// status, weights and checkpoints of each, the factor and summary of their folders, and the
/// descriptions of their submissions.
std::vector<std::filesystem::path> with_side_files(const std::vector<std::filesystem::path>& logs);

/// Writes the files, and names each on `messages` unless `quiet`. Commands call it before they
/// print their text: a reader of that which ends early, such as `head`, then costs none of the
/// files.
void write_files(const std::vector<OutputFile>& files, std::ostream& messages, bool quiet);

}  // namespace analysis::command
