// `trainmark analyze`: reads logs and writes the requested reports.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace analysis::command {

struct AnalyzeOptions {
  std::vector<std::string> paths;
  std::string json;      ///< a file, or "-": standard output, which then gets no text
  std::string csv;       ///< a folder for all tables, or a *.csv file for the table of runs alone
  std::string html;      ///< a file
  std::string markdown;  ///< a file: the text report as Markdown
  bool joint = false;    ///< text and Markdown show systems side by side, not every run
  bool full = false;     ///< all figures of a single log
  bool definitions = false;  ///< the texts end with what their figures mean
  bool quiet = false;
  bool schema = false;                     ///< print only the JSON's schema
  int threads = 0;                         ///< logs read concurrently; 0: one per CPU
  std::istream* standard_input = nullptr;  ///< read for the path "-"
};

/// Writes the text report to `out` unless quiet or the JSON goes there. Writes to `messages` the
/// names of written files (unless quiet) and what could not be read. Returns kSuccess; kIncomplete
/// if something could not be read; kData if nothing could, or a PATH is missing. Throws ConfigError
/// for options that contradict each other and outputs that would overwrite an input, SystemError
/// for outputs that cannot be written.
base::ExitCode analyze(const AnalyzeOptions& options, std::ostream& out, std::ostream& messages,
                       std::size_t width);

/// Columns of the terminal on standard output; if that is no terminal, $COLUMNS, else 80.
std::size_t output_width();

}  // namespace analysis::command
