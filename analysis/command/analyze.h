// `trainmark analyze`: reads logs and writes the reports that were asked for.
// Hides files, terminals and what goes where.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace analysis::command {

struct AnalyzeOptions {
  std::vector<std::string> paths;
  std::string json;      ///< a file, or "-": standard output, and nothing else there
  std::string csv;       ///< a folder for all tables, or a file *.csv for runs.csv alone
  std::string html;      ///< a file
  std::string markdown;  ///< a file: what the text says
  bool joint = false;    ///< text and Markdown have systems side by side in place of every run
  bool quiet = false;
  bool schema = false;                     ///< print the JSON's schema, and nothing else
  int threads = 0;                         ///< logs read at the same time; 0: one on each CPU
  std::istream* standard_input = nullptr;  ///< what the path "-" means
};

/// Text goes to `out` unless quiet or the JSON goes there; which files were written, and what could
/// not be read, to `people`. Returns kSuccess; kIncomplete when something could not be read; kData
/// when nothing could. Throws ConfigError for outputs that would overwrite what is read,
/// SystemError for what cannot be written.
base::ExitCode analyze(const AnalyzeOptions& options, std::ostream& out, std::ostream& people,
                       std::size_t width);

/// Columns of the terminal on standard output; $COLUMNS, else 80, when it is none.
std::size_t output_width();

}  // namespace analysis::command
