// `trainmark check`: judges logs by the rules of their rounds.
// Hides files, terminals and what goes where.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/mllog/rules/choice.h"
#include "runner/mllog/rules/judge.h"

namespace analysis {

struct CheckOptions {
  std::vector<std::string> paths;
  std::string usage, round;           ///< "" where each log decides
  std::vector<std::string> overlays;  ///< rules over the embedded ones: files or folders
  std::string rules;                  ///< list the rules of this benchmark instead
  bool rounds = false;                ///< list the rounds instead
  std::string explain;                ///< print what this rule means instead; "all": a list
  std::string json;                   ///< a file, or "-": standard output, and nothing else there
  std::string sarif, junit;           ///< files
  bool werror = false;
  bool quiet = false;                      ///< of passing logs, only their number
  int threads = 0;                         ///< logs judged at the same time; 0: one on each CPU
  std::istream* standard_input = nullptr;  ///< what the path "-" means
};

/// Text goes to `out` unless the JSON goes there; which files were written, and what could not be
/// read, to `people`. Returns kSuccess if every log passes; kNonCompliant if one fails; else kData
/// when none could be read, and kIncomplete when some could not. Throws ConfigError for rounds and
/// benchmarks that are not there, for faulty overlays, and for output that would overwrite what is
/// read.
base::ExitCode check(const CheckOptions& options, std::ostream& out, std::ostream& people,
                     std::size_t width);

}  // namespace analysis
