// `trainmark compare`: runs, systems, submissions or bench results side by side.
// Hides files, and how a bench result is told from logs.
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
  /// Logs or folders of them, or JSON of bench; the first is what the others are held against.
  std::vector<std::string> paths;
  comparison::Per per = comparison::Per::kSystem;  ///< logs only
  std::uint64_t seed = 1;                          ///< of the bootstrap
  std::string json;           ///< a file, or "-": standard output, and nothing else there
  std::string csv, markdown;  ///< files; logs only
  bool schema = false;        ///< print the JSON's schema, and nothing else
  int threads = 0;            ///< logs read at the same time; 0: one on each CPU
};

/// Text goes to `out` unless the JSON goes there; which file was written, and which logs could not
/// be read, to `people`. Returns kSuccess, or kIncomplete where some logs could not be read. Throws
/// ConfigError for fewer than two paths, for bench results among logs and for output that would
/// replace what is read, DataError for what is neither, SystemError for files that cannot be read.
base::ExitCode compare(const CompareOptions& options, std::ostream& out, std::ostream& people,
                       std::size_t width);

}  // namespace analysis::command
