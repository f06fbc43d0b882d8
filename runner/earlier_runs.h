// Measurements of earlier runs of a configuration on this system, for time estimates.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace runner {

/// Times of one earlier run, in seconds.
struct EarlierRun {
  std::string telemetry_file;
  double staging_s = 0.0;
  double step_s = 0.0;      ///< mean over steps, on the slowest rank
  double compute_s = 0.0;   ///< of a step without its input, on the slowest rank
  double rest_share = 0.0;  ///< time outside staging and steps (evaluation, input), as a fraction
                            ///< of the time in steps
};

/// Of which an earlier run must have done the same.
enum class Work {
  kStepsAndStaging,
  kSteps  ///< wherever their samples were: its staging_s and step_s tell nothing
};

/// The latest result in `folder` of the same work: on `ranks` ranks, and with a configuration that
/// equals `resolved` except in keys that do not change the work, such as seed, epochs, target,
/// submission and results. Skips results that cannot be read.
std::optional<EarlierRun> find_earlier_run(const std::string& folder,
                                           const nlohmann::json& resolved, int ranks,
                                           Work work = Work::kStepsAndStaging);

}  // namespace runner
