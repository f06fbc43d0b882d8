// `trainmark history`: past results, searched, and held against the last good ones.
// Hides words, dates, and where the index lies.
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
  std::int64_t limit = 50;            ///< runs told as text; 0: all
  bool changes = false;               ///< tell what was set otherwise than in the run before
  bool regressions = false;           ///< in place of runs: newest revisions against good ones
  bool rebuild = false;
  std::string index;  ///< file; "" for the folder's own
  std::string json;   ///< a file, or "-": standard output, and nothing else there
  std::uint64_t seed = 1;
  int threads = 0;
};

/// Text goes to `out` unless the JSON goes there; what could not be read to `people`. Returns
/// kSuccess; kIncomplete where some logs could not be read; kRegression where `regressions` finds a
/// slower one. Throws ConfigError for options that cannot be, DataError for a folder that is not
/// there, SystemError for an index that cannot be written.
base::ExitCode history(const HistoryOptions& options, std::ostream& out, std::ostream& people,
                       std::size_t width);

}  // namespace analysis::command
