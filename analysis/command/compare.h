// `trainmark compare`: bench results side by side.
// Hides files and words.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace analysis::command {

struct CompareOptions {
  std::vector<std::string> files;  ///< JSON of bench; the first is what the others are held against
  std::uint64_t seed = 1;          ///< of the bootstrap
  std::string json;                ///< a file, or "-": standard output, and nothing else there
};

/// Text goes to `out` unless the JSON goes there; which file was written to `people`. Throws
/// ConfigError for fewer than two files and for output that would replace what is read, DataError
/// for what is no bench result, SystemError for files that cannot be read.
base::ExitCode compare(const CompareOptions& options, std::ostream& out, std::ostream& people);

}  // namespace analysis::command
