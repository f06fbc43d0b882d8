// Cleans up after runs that died: their live files and unfinished files next to the results.
#pragma once

#include <string>

namespace runner {

/// Removes such files from the folder of `log_path`, the log of a run that has just begun. Keeps
/// logs, configurations, weights and complete checkpoints. Skips what cannot be removed; never
/// throws.
void remove_stale_files(const std::string& log_path) noexcept;

}  // namespace runner
