// How a log ends: what is known of a run whose process is gone.
#pragma once

#include <optional>
#include <string>

namespace runner {

struct LogEnding {
  bool trained = false;               ///< at least one epoch began
  std::optional<std::string> status;  ///< of run_stop
  std::string reason;                 ///< of run_stop; "" if it has none
};

/// Empty if the log is missing or unreadable.
LogEnding log_ending(const std::string& path);

}  // namespace runner
