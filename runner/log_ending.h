// How a log ends: what is left of a run whose process is gone.
// Hides the reading of records.
#pragma once

#include <optional>
#include <string>

namespace runner {

struct LogEnding {
  bool trained = false;               ///< an epoch began
  std::optional<std::string> status;  ///< of run_stop
  std::string reason;                 ///< of run_stop; "" where it tells none
};

/// Of a log that is not there, or cannot be read: nothing.
LogEnding log_ending(const std::string& path);

}  // namespace runner
