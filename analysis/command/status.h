// `trainmark status`: runs in progress, seen from another shell.
// Hides words, and when to look again.
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
  std::string json;  ///< a file, or "-": standard output, and nothing else there
};

/// What surrounds the command; tests have their own.
struct StatusDoors {
  const base::Clock& clock;
  std::function<void(double seconds)> sleep;
  bool is_terminal = false;  ///< what is followed is drawn over what was there
};

/// Text goes to `out` unless the JSON goes there. With `follow` again and again until no run goes
/// on. Returns kSuccess, or kIncomplete where some logs could not be read. Throws ConfigError for
/// options that do not go together, DataError where no log can be read, SystemError for what cannot
/// be written.
base::ExitCode status(const StatusOptions& options, const StatusDoors& doors, std::ostream& out,
                      std::ostream& people, std::size_t width);

}  // namespace analysis::command
