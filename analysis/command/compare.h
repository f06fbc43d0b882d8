// `trainmark compare`: runs, systems, submissions or bench results side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/comparison/run_comparison.h"
#include "runner/base/error.h"

namespace analysis::command {

struct CompareOptions {
  /// Logs or folders of them, or JSON of bench; the others are compared with the first.
  std::vector<std::string> paths;
  comparison::Per per = comparison::Per::kSystem;  ///< logs only
  std::uint64_t seed = 1;                          ///< of the bootstrap and permutation draws
  std::string json;           ///< a file, or "-": standard output, which then gets no text
  std::string csv, markdown;  ///< files; logs only
  bool definitions = false;   ///< the text ends with what its figures mean
  bool schema = false;        ///< print only the JSON's schema
  int threads = 0;            ///< logs read concurrently; 0: one per CPU
};

/// Writes text to `out` unless the JSON goes there. Writes to `messages` the names of written files
/// and what could not be read. Returns kSuccess, or kIncomplete if some logs or files next to them
/// could not be read. Throws ConfigError for fewer than two paths, bench results mixed with logs,
/// and output that would overwrite an input; DataError for a path that is neither, and for paths
/// without a benchmark in common; SystemError for files that cannot be read or written.
base::ExitCode compare(const CompareOptions& options, std::ostream& out, std::ostream& messages,
                       std::size_t width);

}  // namespace analysis::command
