// What runs that died left beside their results: signs of life, files that they had begun.
// Hides how a dead run is told from one on another host.
#pragma once

#include <string>

namespace runner {

/// Removes it from the folder of `log_path`, the log of a run that has just begun, and leaves logs,
/// configurations, weights and whole checkpoints alone. What cannot be removed stays; nothing
/// throws.
void remove_stale_files(const std::string& log_path) noexcept;

}  // namespace runner
