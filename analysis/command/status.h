// `trainmark status`: shows runs in progress, from another shell.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"

namespace analysis::command {

struct StatusOptions {
  std::vector<std::string> paths;
  bool follow = false;
  double interval_s = 2.0;
  std::string json;         ///< a file, or "-": standard output, which then gets no text
  std::string openmetrics;  ///< a file; with `follow`, written again at each refresh
};

/// The dependencies of the command; tests replace them.
struct StatusDoors {
  const base::Clock& clock;
  std::function<void(double seconds)> sleep;
  bool is_terminal = false;  ///< with `follow`, each output clears the screen first
};

/// Writes text to `out` unless the JSON goes there; with `follow`, again and again until no run is
/// in progress. Returns kSuccess, or kIncomplete if some logs could not be read. Throws ConfigError
/// for options that contradict each other, DataError if no log can be read, SystemError for what
/// cannot be written.
base::ExitCode status(const StatusOptions& options, const StatusDoors& doors, std::ostream& out,
                      std::ostream& messages, std::size_t width);

}  // namespace analysis::command
