// `trainmark history`: lists and searches past results, and compares new ones with the last good
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace analysis::command {

struct HistoryOptions {
  std::string folder = "results";
  std::string workload, system, outcome, revision, text, since;
  std::vector<std::string> settings;  ///< "optimizer.name=lars"
  std::int64_t limit = 50;            ///< runs shown as text; 0: all
  bool changes = false;               ///< show settings that differ from the previous run
  bool regressions = false;           ///< instead: compare newest revisions with good ones
  bool rebuild = false;
  std::string index;  ///< index file; "": the folder's own
  std::string json;   ///< a file, or "-": standard output, which then gets no text
  std::uint64_t seed = 1;
  int threads = 0;
};

/// Writes text to `out` unless the JSON goes there, and to `messages` what could not be read.
/// Returns kSuccess; kIncomplete if some logs could not be read; kRegression if `regressions` finds
/// runs that are slower or fail. Throws ConfigError for invalid options, DataError if the folder
/// does not exist, SystemError for an index that cannot be written.
base::ExitCode history(const HistoryOptions& options, std::ostream& out, std::ostream& messages,
                       std::size_t width);

}  // namespace analysis::command
